"""Wheels: read and unpacked with fixed modes, so that the same wheel gives the same files."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_EXECUTABLE: Final = 0o111 << 16
_DAMAGED: Final = (zipfile.BadZipFile, EOFError, NotImplementedError)


@contextmanager
def open_wheel(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a wheel.

    Raises:
        SdkError: it is none, or is damaged.
    """
    try:
        with zipfile.ZipFile(path) as wheel:
            yield wheel
    except (*_DAMAGED, KeyError) as error:
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
        SdkError: a path leads out of the folder.
    """
    written = []
    for entry in wheel.infolist():
        path = None if entry.is_dir() else place(entry.filename)
        if path is None:
            continue
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise SdkError(f"the wheel holds the path {path!r}", where=str(wheel.filename))
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(wheel.read(entry))
        file.chmod(0o755 if entry.external_attr & _EXECUTABLE else 0o644)
        written.append(path)
    return tuple(sorted(written))
