"""Loading what a lock file names: where the file is, and whether a build is the locked one."""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import NotLocked
from kernelmill.spec import lockfile as lockfile_format
from kernelmill.spec.errors import DigestMismatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.metadata import Distribution
    from types import FrameType

    from kernelmill.spec.lockfile import Lockfile

OURSELVES: Final = frozenset({"kernelmill", "kernels"})
HINT: Final = "lock its kernels with `kernels lock <project>`, then install the project again"

log = logging.getLogger(__name__)


def read_lockfile(path: Path | None) -> Lockfile:
    """Return a lock file; that of the caller's installed package when ``path`` is None.

    Raises:
        NotLocked: there is none.
        LockfileError: it cannot be read.
    """
    if path is None:
        return read_caller_lockfile(calling_package())
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingLockfile(f"there is no lock file '{path}'", hint=HINT) from error
    except (OSError, UnicodeDecodeError) as error:
        raise NotLocked(f"the lock file cannot be read: {error}", where=str(path)) from error
    return lockfile_format.parse(text, where=str(path))


class MissingLockfile(NotLocked, FileNotFoundError):
    """A lock file that the caller names is not there."""


def calling_package() -> str:
    """Return the top-level package of the code that called us; empty when it has none."""
    names = (str(frame.f_globals.get("__name__", "")) for frame in _frames())
    packages = (name.partition(".")[0] for name in names)
    return next((package for package in packages if package not in {"", *OURSELVES}), "")


def _frames() -> Iterator[FrameType]:
    frame = inspect.currentframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def read_caller_lockfile(package: str) -> Lockfile:
    """Return the lock file that was installed with the distribution of ``package``."""
    import importlib.metadata  # noqa: PLC0415 - reads much, and only this needs it

    for distribution in importlib.metadata.distributions():
        text = distribution.read_text(lockfile_format.FILE_NAME)
        if text and package in _packages(distribution):
            where = f"{lockfile_format.FILE_NAME} of {distribution.name}"
            return lockfile_format.parse(text, where=where)
    raise NotLocked(
        "Could not find a `kernels.lock` file in the caller's package metadata.",
        where=f"package '{package}'" if package else "",
        hint=f"give the file: lockfile=Path(...); or {HINT}",
    )


def _packages(distribution: Distribution) -> set[str]:
    """Return the top-level packages of a distribution, as declared or else as installed."""
    declared = distribution.read_text("top_level.txt")
    if declared is not None:
        return set(declared.split())
    return {file.parts[0].removesuffix(".py") for file in distribution.files or ()}


def check_locked_hash(folder: Path, expected: str | None) -> None:
    """Stop here unless a build's files are those that a lock file in the old format names.

    The hash is made of git's ids of small files and the SHA-256 of large ones. Which is which, the
    cache tells by the names of its blobs; a copied file does not tell, and then there is nothing
    to compare: the commit is locked in any case.

    Args:
        folder: the build, in the cache.
        expected: ``sha256-<hex>``; None where the lock file gives none.

    Raises:
        DigestMismatch: the files are others.
    """
    if expected is None:
        return
    files = list(_hashed_files(folder))
    if any(not digest for _, digest in files):
        log.warning("%s: the cache does not tell how its files were hashed; not compared", folder)
        return
    actual = lockfile_format.hash_variant(files)
    if actual != expected:
        raise DigestMismatch(
            f"the build's hash is {actual}, and {expected} is locked",
            where=str(folder),
            hint="if the change is meant, lock the kernel again",
        )


def _hashed_files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in _files_below(folder):
        yield path.relative_to(folder).as_posix(), _hash_like_name(path.resolve())


def _files_below(folder: Path) -> Iterable[Path]:
    found = (Path(parent) / name for parent, _, names in os.walk(folder) for name in names)
    return sorted(
        path for path in found if path.suffix != ".pyc" and "__pycache__" not in path.parts
    )


def _hash_like_name(blob: Path) -> str:
    """Return the hash that a blob is named after, computed from its content; else nothing."""
    content = blob.read_bytes()
    match len(blob.name):
        case 64:
            return hashlib.sha256(content).hexdigest()
        case 40:
            head = b"blob %d\0" % len(content)
            return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
        case _:
            return ""
