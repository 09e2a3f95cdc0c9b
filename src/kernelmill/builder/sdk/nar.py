"""Nix's archive of a folder (NAR), as a stream, and the hash that Nix gives it: its SHA-256.

Format: https://nix.dev/manual/nix/latest/protocols/nix-archive. Names are sorted by bytes; of the
modes only "executable" counts, and no times or owners do.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAGIC: Final = b"nix-archive-1"
_CHUNK_BYTES: Final = 1 << 20


def nar_sha256(path: Path) -> str:
    """Return the SHA-256 of the archive of ``path``, in hexadecimal digits.

    Raises:
        SdkError: it holds something that is no file, folder or link.
    """
    digest = hashlib.sha256()
    write_nar(path, digest.update)
    return digest.hexdigest()


def write_nar(path: Path, write: Callable[[bytes], object]) -> None:
    """Pass the archive of ``path`` to ``write``, piece by piece.

    Raises:
        SdkError: it holds something that is no file, folder or link.
    """
    write(_text(MAGIC))
    _write_node(os.fsencode(path), write)


# Bytes, not Path: a tree has ten thousand files, and is hashed before each build.
def _write_node(path: bytes, write: Callable[[bytes], object]) -> None:
    status = os.lstat(path)
    if stat.S_ISREG(status.st_mode):
        write(_EXECUTABLE_FILE if status.st_mode & stat.S_IXUSR else _FILE)
        _write_content(path, status.st_size, write)
    elif stat.S_ISDIR(status.st_mode):
        write(_FOLDER)
        for name in sorted(os.listdir(path)):  # noqa: PTH208 - as above
            write(_ENTRY + _text(name) + _NODE)
            _write_node(path + b"/" + name, write)
            write(_END)
    elif stat.S_ISLNK(status.st_mode):
        write(_LINK + _text(os.readlink(path)))  # noqa: PTH115 - as above
    else:
        raise SdkError("is neither a file nor a folder", where=os.fsdecode(path), hint="remove it")
    write(_END)


def _write_content(path: bytes, size: int, write: Callable[[bytes], object]) -> None:
    write(size.to_bytes(8, "little"))
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        left = size
        while left and (chunk := os.read(descriptor, min(left, _CHUNK_BYTES))):
            write(chunk)
            left -= len(chunk)
    finally:
        os.close(descriptor)
    if left:
        raise SdkError("became shorter while it was read", where=os.fsdecode(path))
    write(bytes(-size % 8))


def _text(content: bytes) -> bytes:
    return len(content).to_bytes(8, "little") + content + bytes(-len(content) % 8)


def _texts(*words: bytes) -> bytes:
    return b"".join(map(_text, words))


_FILE: Final = _texts(b"(", b"type", b"regular", b"contents")
_EXECUTABLE_FILE: Final = _texts(b"(", b"type", b"regular", b"executable", b"", b"contents")
_FOLDER: Final = _texts(b"(", b"type", b"directory")
_LINK: Final = _texts(b"(", b"type", b"symlink", b"target")
_ENTRY: Final = _texts(b"entry", b"(", b"name")
_NODE: Final = _texts(b"node")
_END: Final = _texts(b")")
