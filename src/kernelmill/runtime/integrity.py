"""Whether a variant's folder holds the files its metadata lists, those alone, and nowhere else.

Bytecode in ``__pycache__`` is left where it is: other programs that share the cache write it, no
digest covers it, and our loader neither reads nor writes it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.files import Found, Mark, Survey, mark_of
from kernelmill.runtime.settings import is_strict
from kernelmill.runtime.stamps import now_ns, read_stamps, settled, stamp_path, write_stamps
from kernelmill.spec.digest import (
    UNCOVERED_FILES,
    Algorithm,
    Digest,
    Violation,
    compare,
    digest_files,
    encode,
    is_covered,
)
from kernelmill.spec.errors import DigestMismatch
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

HINT: Final = "remove the folder, or run `kernels update`, and load the kernel again"

# The marks of files that this process has compared with their digest.
_compared: dict[str, Mark] = {}


def check_integrity(
    folder: Path, digest: Digest | None, *, root: Path, is_thorough: bool = False
) -> tuple[str, ...]:
    """List what is wrong with the files of a variant.

    Reads every one of them, but for files of the cache that were read before and have not been
    written to since; with ``KERNELS_STRICT`` these, too.

    Args:
        folder: the variant.
        digest: what it should hold; None for builds older than digests: then only links are
            looked at.
        root: the folder that links may not leave.
        is_thorough: believe nothing that the cache says of its files.
    """
    folder = folder.resolve()
    found = list(Survey(str(folder), str(root.resolve())).files())
    findings = [each.problem for each in found if each.problem]
    if findings or digest is None:
        return tuple(findings)
    findings = [
        str(Violation(kind="unknown", path=each.path, expected="", got=""))
        for each in found
        if _is_planted(each.path)
    ]
    try:
        actual = _hash_changed(folder, digest, found, is_thorough=is_thorough)
    except OSError as error:  # it cannot be read, or went away in the meantime
        return (*findings, f"Unreadable file: {error.filename or folder}: {error.strerror}")
    violations = compare(digest, actual)
    return (*findings, *map(str, violations))


def _hash_changed(folder: Path, digest: Digest, found: list[Found], *, is_thorough: bool) -> Digest:
    """Return the digest of a folder, reading those files alone that have no valid stamp."""
    stamps = None if is_thorough or is_strict() else stamp_path(folder)
    known = read_stamps(stamps, digest.algorithm) if stamps else {}
    hashed_at_ns = now_ns()
    actual: dict[str, tuple[Mark, str]] = {}
    for each in found:
        if each.mark is None or not is_covered(each.path):
            continue
        mark, value = known.get(each.path, (None, ""))
        if mark != each.mark or value != digest.files.get(each.path):
            value = _hash_file(folder / each.path, digest.algorithm)
        actual[each.path] = (each.mark, value)
        if value == digest.files.get(each.path):
            _compared[str(folder / each.path)] = each.mark
    kept = settled(actual, hashed_at_ns=hashed_at_ns)
    if stamps and kept != known:
        write_stamps(stamps, digest.algorithm, kept)
    return Digest(
        algorithm=digest.algorithm,
        files={path: value for path, (_, value) in sorted(actual.items())},
    )


def _hash_file(path: Path, algorithm: Algorithm) -> str:
    with path.open("rb") as file:
        return encode(hashlib.file_digest(file, algorithm).digest())


def read_digest(folder: Path, like: Digest | None = None) -> Digest:
    """Hash a variant's files, with the algorithm of ``like``."""
    algorithm: Algorithm = like.algorithm if like else "sha256"
    files = filter(is_covered, _relative_files(folder))
    hashes = {path: _hash_file(folder / path, algorithm) for path in files}
    return Digest(algorithm=algorithm, files=dict(sorted(hashes.items())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The files that a variant may import."""

    folder: Path
    digest: Digest | None
    package: str = ""
    """The name of the kernel's Python package, by which its own files may not import it."""

    def verify(self, path: str, content: bytes) -> None:
        """Stop here unless ``content`` is what the digest promises for ``path``.

        The folder was checked as a whole before; a module that is imported later is checked again,
        for what it is then.
        """
        if self.digest is None:
            return
        name = Path(path).relative_to(self.folder).as_posix()
        actual = digest_files([(name, content)], algorithm=self.digest.algorithm).files.get(name)
        if actual is None or actual != self.digest.files.get(name):
            raise DigestMismatch(
                f"{name} is not the file that the kernel was published with",
                where=str(self.folder),
                hint=HINT,
            )

    def verify_file(self, path: str) -> None:
        """Stop here unless the file at ``path`` is the one that the digest promises.

        It is not read again where it was not written to since the folder was checked.
        """
        before = _compared.get(path)
        is_same = before and mark_of(os.stat(path), before.target) == before  # noqa: PTH116 - quick
        if not is_same or is_strict():
            self.verify(path, Path(path).read_bytes())


def _relative_files(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            yield (Path(parent) / name).relative_to(folder).as_posix()


def _is_planted(path: str) -> bool:
    """Tell whether no digest covers ``path`` although something could run it."""
    if path in UNCOVERED_FILES or is_covered(path):
        return False
    parts = path.split("/")
    return not (path.endswith(".pyc") and len(parts) > 1 and parts[-2] == "__pycache__")
