"""The hash that Nix gives a folder: SHA-256 over its archive (NAR), streamed, never written.

Format: https://nix.dev/manual/nix/latest/protocols/nix-archive. Names are sorted by bytes; of the
modes only "executable" counts, and no times or owners do.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CHUNK_BYTES: Final = 1 << 20
_EXECUTABLE: Final = 0o100


def nar_sha256(path: Path) -> str:
    """Return the SHA-256 of the archive of ``path``, in hexadecimal digits.

    Raises:
        SdkError: it holds something that is no file, folder or link.
    """
    digest = hashlib.sha256()
    digest.update(_text(b"nix-archive-1"))
    _write_node(path, digest.update)
    return digest.hexdigest()


def _write_node(path: Path, write: Callable[[bytes], object]) -> None:
    if path.is_symlink():
        _write_texts(write, "(", "type", "symlink", "target", path.readlink(), ")")
    elif path.is_file():
        _write_texts(write, "(", "type", "regular")
        if path.stat().st_mode & _EXECUTABLE:
            _write_texts(write, "executable", "")
        _write_texts(write, "contents")
        _write_content(path, write)
        _write_texts(write, ")")
    elif path.is_dir():
        _write_texts(write, "(", "type", "directory")
        for entry in sorted(path.iterdir(), key=lambda it: os.fsencode(it.name)):
            _write_texts(write, "entry", "(", "name", entry.name, "node")
            _write_node(entry, write)
            _write_texts(write, ")")
        _write_texts(write, ")")
    else:
        raise SdkError("is neither a file nor a folder", where=str(path), hint="remove it")


def _write_content(path: Path, write: Callable[[bytes], object]) -> None:
    size = path.stat().st_size
    write(size.to_bytes(8, "little"))
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            write(chunk)
    write(bytes(-size % 8))


def _write_texts(write: Callable[[bytes], object], *words: str | Path) -> None:
    for word in words:
        write(_text(os.fsencode(word)))


def _text(content: bytes) -> bytes:
    return len(content).to_bytes(8, "little") + content + bytes(-len(content) % 8)
