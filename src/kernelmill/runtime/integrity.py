"""Whether a variant's folder holds the files its metadata lists, those alone, and nowhere else.

Bytecode in ``__pycache__`` is left where it is: other programs that share the cache write it, no
digest covers it, and our loader neither reads nor writes it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.spec.digest import (
    UNCOVERED_FILES,
    Digest,
    Violation,
    compare,
    digest_files,
    is_covered,
)
from kernelmill.spec.errors import DigestMismatch

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_integrity(folder: Path, digest: Digest | None, *, root: Path) -> tuple[str, ...]:
    """List what is wrong with the files of a variant. Reads every one of them.

    Args:
        folder: the variant.
        digest: what it should hold; None for builds older than digests: then only links are
            looked at.
        root: the folder that links may not leave.
    """
    root = root.resolve()
    findings = list(_check_links(folder, root))
    if findings or digest is None:
        return tuple(findings)
    findings = [
        str(Violation(kind="unknown", path=path, expected="", got=""))
        for path in _relative_files(folder)
        if _is_planted(path)
    ]
    return (*findings, *map(str, compare(digest, read_digest(folder, digest))))


def read_digest(folder: Path, like: Digest | None = None) -> Digest:
    """Hash a variant's files, with the algorithm of ``like``."""
    contents = ((path, (folder / path).read_bytes()) for path in _relative_files(folder))
    return digest_files(contents, algorithm=like.algorithm if like else "sha256")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The files that a variant may import."""

    folder: Path
    digest: Digest | None

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
                hint="remove the folder and load the kernel again",
            )


def _relative_files(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            yield (Path(parent) / name).relative_to(folder).as_posix()


def _check_links(folder: Path, root: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        for name in sorted(folders):
            path = Path(parent) / name
            if path.is_symlink():
                yield f"Linked folder: {path.relative_to(folder).as_posix()}"
        for name in sorted(files):
            path = Path(parent) / name
            shown = path.relative_to(folder).as_posix()
            try:
                target = path.resolve()
            except (OSError, RuntimeError):  # the latter for a loop, until Python 3.13
                yield f"Link to nowhere: {shown}"
                continue
            if not target.is_relative_to(root):
                yield f"Link out of {root}: {shown} -> {target}"
            elif not target.exists():
                yield f"Missing file: {shown}"
            elif not target.is_file():
                yield f"Not a regular file: {shown}"


def _is_planted(path: str) -> bool:
    """Tell whether no digest covers ``path`` although something could run it."""
    if is_covered(path) or path in UNCOVERED_FILES:
        return False
    parts = Path(path).parts
    return not (path.endswith(".pyc") and len(parts) > 1 and parts[-2] == "__pycache__")
