"""Compressed files, read and written as streams."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from importlib import import_module
from typing import IO, TYPE_CHECKING, Final, cast

from kernelmill.binary.errors import BinaryError
from kernelmill.spec.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from kernelmill.spec.narinfo import Compression

LEVEL: Final = 6
"""Of zstd: the 48 MB of PyTorch's headers and stubs take a second, and become 4.9 MB."""
_CHUNK_BYTES: Final = 1 << 18


def decompressed(file: IO[bytes], compression: Compression, *, where: str) -> Iterator[bytes]:
    """Yield what ``file`` holds, piece by piece, so that the reader can stop in time.

    Raises:
        BinaryError: it is not compressed so, or is cut short.
        HostError: the package for this compression is not installed.
    """
    damages: tuple[type[Exception], ...] = (EOFError, lzma.LZMAError, zlib.error)
    if compression == "zstd":
        damages = (*damages, _zstd().ZstdError)
    try:
        stream = _open(file, compression)
        while piece := stream.read(_CHUNK_BYTES):
            yield piece
    except damages as error:
        raise BinaryError(f"damaged {compression} data: {error}", where=where) from error
    except OSError as error:
        if error.errno is not None:  # else it is what gzip and bz2 raise for bad data
            raise
        raise BinaryError(f"damaged {compression} data: {error}", where=where) from error


def _open(file: IO[bytes], compression: Compression) -> IO[bytes]:
    match compression:
        case "none":
            return file
        case "gzip":
            return cast("IO[bytes]", gzip.open(file))
        case "bzip2":
            return cast("IO[bytes]", bz2.open(file))
        case "xz":
            return cast("IO[bytes]", lzma.open(file))
        case "zstd":
            return cast("IO[bytes]", _zstd().open(file))


def writing_zstd(file: IO[bytes]) -> IO[bytes]:
    """Return a stream that compresses into ``file``; closing it leaves ``file`` open.

    Raises:
        HostError: zstd's package is not installed.
    """
    return cast("IO[bytes]", _zstd().open(file, "wb", level=LEVEL))


def _zstd() -> ModuleType:
    # Part of Python from 3.14 on; before that, the same module under another name.
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return import_module(name)
    except ImportError as error:
        raise HostError(
            f"zstd needs the package {name!r}", hint="pip install backports.zstd"
        ) from error
