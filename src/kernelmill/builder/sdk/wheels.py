"""Wheels: read and unpacked with fixed modes, so that the same wheel gives the same files."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError
from kernelmill.spec.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_EXECUTABLE: Final = 0o111 << 16
_DAMAGED: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, LookupError, RuntimeError, ValueError),
)
"""What Python's reader of archives makes of those that lie; one with a password, too."""


@contextmanager
def open_wheel(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a wheel.

    Raises:
        SdkError: it is none, or is damaged.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise SdkError(
            f"cannot be read: {error.strerror}", where=str(path), hint="is it a file of yours?"
        ) from error
    try:
        with file, zipfile.ZipFile(file) as wheel:
            yield wheel
    except KernelError:
        raise
    except _DAMAGED as error:
        raise SdkError(
            f"not the wheel that is wanted: {error}", where=str(path), hint="fetch it again"
        ) from error


def unpack(
    wheel: zipfile.ZipFile, target: Path, *, place: Callable[[str], str | None]
) -> tuple[str, ...]:
    """Write files of a wheel below ``target`` and return where they went, sorted.

    Args:
        wheel: to read.
        target: the folder.
        place: gives the path below ``target`` of a file of the wheel; None leaves it out.

    Raises:
        SdkError: a path leads out of the folder, or is a file and a folder.
    """
    written = []
    for entry in wheel.infolist():
        path = None if entry.is_dir() else place(entry.filename)
        if path is None:
            continue
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise _wrong_path(path, wheel, "leads out of the folder")
        file, content = target / path, wheel.read(entry)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            raise _wrong_path(path, wheel, "is a file and a folder") from error
        file.chmod(0o755 if entry.external_attr & _EXECUTABLE else 0o644)
        written.append(path)
    return tuple(sorted(written))


def _wrong_path(path: str, wheel: zipfile.ZipFile, problem: str) -> SdkError:
    return SdkError(
        f"the wheel holds the path {path!r}, which {problem}",
        where=str(getattr(wheel.fp, "name", "")),
        hint="do not use this wheel",
    )
