"""Debian packages: read and unpacked with fixed modes, into one tree with a merged ``/usr``.

Format: deb(5). An ``ar`` archive whose member ``data.tar.*`` holds the files.
"""

from __future__ import annotations

import io
import shutil
import tarfile
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_MAGIC: Final = b"!<arch>\n"
_HEADER_BYTES: Final = 60
_MERGED: Final = frozenset({"bin", "sbin", "lib", "lib32", "lib64", "libx32"})
"""Folders that are links into ``/usr`` on a system of today."""


@contextmanager
def open_deb(path: Path) -> Iterator[tarfile.TarFile]:
    """Open the files of a package.

    Raises:
        SdkError: it is none, or is damaged.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(_data_member(path.read_bytes()))) as files:
            yield files
    except (tarfile.TarError, EOFError, ValueError, LookupError) as error:
        raise SdkError(
            f"not the package that is wanted: {error}", where=str(path), hint="fetch it again"
        ) from error


def _data_member(content: bytes) -> bytes:
    if not content.startswith(_MAGIC):
        raise ValueError("it is no Debian package")
    place = len(_MAGIC)
    while header := content[place : place + _HEADER_BYTES]:
        name, size = header[:16].decode("ascii").rstrip(" /"), int(header[48:58])
        place += _HEADER_BYTES
        if name.startswith("data.tar"):
            return content[place : place + size]
        place += size + size % 2
    raise ValueError("it holds no files")


def merge_usr(path: str) -> str:
    """Return where a file of a package is on a system with a merged ``/usr``, without a slash."""
    parts = [part for part in PurePosixPath(path.lstrip("/")).parts if part != "."]
    return "/".join(["usr", *parts] if parts and parts[0] in _MERGED else parts)


def unpack_deb(files: tarfile.TarFile, target: Path, *, is_wanted: Callable[[str], bool]) -> None:
    """Write files of a package below ``target``; a name that is there already stays.

    Args:
        files: of the package.
        target: the folder.
        is_wanted: tells, of a path below ``target``, whether it is needed.

    Raises:
        SdkError: a path leads out of the folder.
    """
    for member in files:
        path = merge_usr(member.name)
        if member.isdir() or not is_wanted(path):
            continue
        if ".." in PurePosixPath(path).parts:
            raise SdkError(f"the package holds the path {member.name!r}", where=str(files.name))
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if member.issym():
            place.symlink_to(member.linkname)
        elif member.islnk():
            shutil.copy(target / merge_usr(member.linkname), place)
        elif member.isreg():
            _write(files, member, place)


def _write(files: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    source = files.extractfile(member)
    place.write_bytes(source.read() if source else b"")
    place.chmod(0o755 if member.mode & 0o111 else 0o644)
