"""Write a bundle as a folder: all of it, or nothing."""

from __future__ import annotations

import hashlib
import logging
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from kernelmill.runtime.bundles import FILE_NAME
from kernelmill.runtime.errors import BundleError, CacheUnusable
from kernelmill.spec.errors import DigestMismatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.runtime.export import Contents

log = logging.getLogger(__name__)

CHUNK_BYTES: Final = 1 << 20
OLD: Final = "old"
"""Where a bundle waits while the next one takes its place."""


def write_folder(contents: Contents, out: Path, *, is_forced: bool = False) -> None:
    """Write the bundle to ``out``, which appears when it is complete.

    Raises:
        BundleError: ``out`` is there already, and is no bundle or is not to be replaced.
        DigestMismatch: a file changed while it was copied.
        CacheUnusable: it cannot be written.
    """
    ensure_replaceable(out, is_forced=is_forced)
    with writable(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=out.parent, prefix=_work_prefix(out)))
        try:
            new = work / "new"
            _fill(contents, new)
            _swap(new, out, work / OLD)
        finally:
            if out.exists() or not (work / OLD).exists():  # else it is all that is left of it
                with suppress(OSError):
                    shutil.rmtree(work)


def put_back(out: Path) -> None:
    """Put a bundle back that was being replaced when the process, or the machine, stopped."""
    left = left_behind(out)
    if left is None:
        return
    log.warning("%s: an export was interrupted; the bundle that was there is put back", out)
    left.rename(out)
    shutil.rmtree(left.parent, ignore_errors=True)


def left_behind(out: Path) -> Path | None:
    """Return where the bundle ``out`` is that an interrupted export left under another name."""
    if out.exists() or out.is_symlink() or not out.parent.is_dir():
        return None
    works = [it for it in out.parent.iterdir() if it.name.startswith(_work_prefix(out))]
    found = [it / OLD for it in works if (it / OLD / FILE_NAME).is_file()]
    return max(found, key=lambda it: it.stat().st_mtime_ns, default=None)


def _work_prefix(out: Path) -> str:
    return f".{out.name}."


def ensure_replaceable(out: Path, *, is_forced: bool) -> None:
    """Stop here unless ``out`` is free, or a bundle that may be replaced; after a repair."""
    with writable(out):
        put_back(out)
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise BundleError(
            "is there already, and is no folder", where=str(out), hint="choose another path"
        )
    if not out.exists() or not any(out.iterdir()):
        return
    if not (out / FILE_NAME).is_file():
        raise BundleError(
            "holds other things than a bundle", where=str(out), hint="choose another path"
        )
    if not is_forced:
        raise BundleError("is there already", where=str(out), hint="replace it with --force")


def _swap(new: Path, out: Path, old: Path) -> None:
    """Put ``new`` where ``out`` is, or leave ``out`` as it is."""
    if out.exists():
        out.rename(old)
    try:
        new.rename(out)
    except BaseException:  # also an interrupt: what was there is put back before anything else
        if old.exists() and not out.exists():
            old.rename(out)
        raise


def _fill(contents: Contents, folder: Path) -> None:
    for name, source in contents.sources.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            copy_checked(source, file, contents.bundle.files[name])
    for name, text in contents.texts.items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def copy_checked(source: Path, target: IO[bytes], sha256: str) -> int:
    """Copy a file, compare what was copied with its hash, and return the size in bytes.

    Raises:
        DigestMismatch: it is not what was hashed before.
    """
    total, size_bytes = hashlib.sha256(), 0
    with source.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            total.update(chunk)
            size_bytes += len(chunk)
            target.write(chunk)
    if total.hexdigest() != sha256:
        raise DigestMismatch(
            f"changed while it was copied: expected: {sha256}, got: {total.hexdigest()}",
            where=str(source),
            hint="run the command again",
        )
    return size_bytes


@contextmanager
def writable(out: Path) -> Iterator[None]:
    """Say what cannot be written, and where."""
    try:
        yield
    except OSError as error:
        raise CacheUnusable(
            f"cannot be written: {error.strerror or error}",
            where=str(error.filename or out),
            hint="choose a folder that can be written and has room",
        ) from error
