"""Xorbs: up to 64 MiB of chunks in a row, each behind a header, perhaps compressed.

Header of a chunk, 8 bytes: version 0, compressed length (3 bytes, little-endian), scheme, length
(3 bytes). Source: facts of the Xet protocol as hf-xet 1.8 speaks it.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import numpy as np

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.wire.chunking import MAX_BYTES as MAX_CHUNK_BYTES
from kernelmill.hub.wire.hashes import chunk_hash, merkle_root

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator

    from numpy.typing import NDArray

HEADER: Final = struct.Struct("<B3sB3s")
FOOTER_START: Final = b"XETBLOB"
GROUP: Final = 4
MAX_CHUNKS: Final = 8192
MAX_RAW_BYTES: Final = 64 * 1024 * 1024
MAX_STORED_BYTES: Final = MAX_RAW_BYTES + MAX_CHUNKS * 1024 + 1024 * 1024
"""Chunks that cannot be compressed still get a frame around them, and the xorb a footer."""

CHUNK_RECORD: Final = np.dtype([("hash", "S32"), ("size", "<u4"), ("end", "<u4")])
"""One chunk of a xorb: its hash, its length, and where it ends in the stored xorb."""

Bytes = bytes | memoryview


class Scheme(IntEnum):
    """How a chunk is compressed."""

    NONE = 0
    LZ4 = 1
    GROUPED_LZ4 = 2
    """First the bytes 0, 4, 8, ... then 1, 5, 9, ... and so on: numbers compress better so."""


class StoredChunk(NamedTuple):
    """Where a chunk lies in a stored xorb, behind its header."""

    scheme: Scheme
    start: int
    end: int
    size: int


class XorbIndex:
    """What is known of each chunk of a xorb, in order."""

    def __init__(self, records: NDArray[np.void]) -> None:
        self.records = records
        self.sizes: NDArray[np.int64] = records["size"].astype(np.int64)
        self.ends: NDArray[np.int64] = records["end"].astype(np.int64)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def raw_bytes(self) -> int:
        """The number of bytes of all chunks."""
        return int(self.sizes.sum())

    @property
    def stored_bytes(self) -> int:
        """The number of bytes that the xorb takes."""
        return int(self.ends[-1])

    def hash_at(self, place: int) -> bytes:
        """Return the hash of a chunk."""
        # NumPy drops zero bytes at the end of a text.
        return bytes(self.records["hash"][place]).ljust(32, b"\0")

    def hashes(self, start: int, end: int) -> bytes:
        """Return the hashes of a range of chunks in a row."""
        records = self.records[start:end]
        return np.ascontiguousarray(records["hash"]).tobytes()

    def nodes(self, start: int = 0, end: int | None = None) -> list[tuple[bytes, int]]:
        """Return (hash, number of bytes) of a range of chunks."""
        span = range(*slice(start, end).indices(len(self)))
        return [(self.hash_at(i), int(self.sizes[i])) for i in span]

    def size(self, start: int, end: int) -> int:
        """Return the number of bytes of a range of chunks."""
        return int(self.sizes[start:end].sum())

    def place(self, start: int, end: int) -> range:
        """Return where a range of chunks lies in the stored xorb, headers and all."""
        return range(int(self.ends[start - 1]) if start else 0, int(self.ends[end - 1]))

    def to_bytes(self) -> bytes:
        """Write the index."""
        return self.records.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> XorbIndex:
        """Read what ``to_bytes`` wrote."""
        return cls(np.frombuffer(data, CHUNK_RECORD))

    @classmethod
    def from_chunks(cls, chunks: list[tuple[bytes, int, int]]) -> XorbIndex:
        """Make an index of (hash, length, end in the stored xorb) of each chunk."""
        return cls(np.array(chunks, CHUNK_RECORD))


def read_xorb(body: bytes | memoryview | mmap.mmap) -> tuple[bytes, XorbIndex]:
    """Return the hash of a xorb, computed from its bytes, and its index.

    Raises:
        InvalidRequest: it is malformed or exceeds a limit.
    """
    chunks: list[tuple[bytes, int, int]] = []
    raw_bytes = 0
    view = memoryview(body)
    for chunk in stored_chunks(view):
        raw_bytes += chunk.size
        if len(chunks) == MAX_CHUNKS or raw_bytes > MAX_RAW_BYTES:
            raise InvalidRequest(
                f"the xorb holds more than {MAX_CHUNKS} chunks or {MAX_RAW_BYTES} bytes"
            )
        chunks.append((chunk_hash(decode(view, chunk)), chunk.size, chunk.end))
    if not chunks:
        raise InvalidRequest("the xorb holds no chunk")
    return merkle_root([(raw, size) for raw, size, _ in chunks]), XorbIndex.from_chunks(chunks)


def stored_chunks(view: memoryview, start: int = 0) -> Iterator[StoredChunk]:
    """Yield where each chunk lies, up to the end or the footer.

    Raises:
        InvalidRequest: a header is malformed.
    """
    total = len(view)
    while start < total and bytes(view[start : start + len(FOOTER_START)]) != FOOTER_START:
        where = f"xorb byte {start}"
        if total - start < HEADER.size:
            raise InvalidRequest("the xorb ends inside a chunk's header", where=where)
        version, stored, scheme, size = HEADER.unpack_from(view, start)
        start += HEADER.size
        end = start + int.from_bytes(stored, "little")
        raw = int.from_bytes(size, "little")
        if version != 0 or scheme not in Scheme.__members__.values():
            raise InvalidRequest(f"unknown chunk version {version}, scheme {scheme}", where=where)
        if not 0 < raw <= MAX_CHUNK_BYTES:
            raise InvalidRequest(f"a chunk of {raw} bytes: 1 to {MAX_CHUNK_BYTES}", where=where)
        if end > total:
            raise InvalidRequest("the xorb ends inside a chunk", where=where)
        yield StoredChunk(Scheme(scheme), start, end, raw)
        start = end


def decode(view: memoryview, chunk: StoredChunk) -> Bytes:
    """Return a chunk's bytes.

    Raises:
        InvalidRequest: they are not what the header says.
    """
    stored = view[chunk.start : chunk.end]
    if chunk.scheme is Scheme.NONE:
        data: Bytes = stored
    else:
        data = _inflate(stored, chunk.size)
    if len(data) != chunk.size:
        raise InvalidRequest(
            f"a chunk holds {len(data)} bytes, its header says {chunk.size}",
            where=f"xorb byte {chunk.start}",
        )
    return _ungroup(data) if chunk.scheme is Scheme.GROUPED_LZ4 else data


def encode(data: Bytes) -> bytes:
    """Return a chunk with its header, compressed if that makes it smaller."""
    packed: Bytes = lz4.frame.compress(data, store_size=False)
    scheme = Scheme.LZ4
    if len(packed) >= len(data):
        packed, scheme = data, Scheme.NONE
    lengths = (len(packed).to_bytes(3, "little"), len(data).to_bytes(3, "little"))
    return HEADER.pack(0, lengths[0], scheme, lengths[1]) + bytes(packed)


def _inflate(stored: memoryview, size: int) -> bytes:
    """Decompress a frame; one byte more than ``size`` at most, whatever the frame says."""
    inflate = lz4.frame.LZ4FrameDecompressor()
    try:
        data: bytes = inflate.decompress(stored, max_length=size + 1)
        if not inflate.eof and len(data) == size:
            data += inflate.decompress(b"", max_length=1)  # the end mark may be unread still
    except (RuntimeError, EOFError, MemoryError) as error:
        raise InvalidRequest(f"a chunk is not LZ4: {error}") from error
    if not inflate.eof or inflate.unused_data:
        raise InvalidRequest(f"a chunk is not one whole LZ4 frame of {size} bytes")
    return data


def group(data: Bytes) -> bytes:
    """Reorder bytes as ``Scheme.GROUPED_LZ4`` compresses them."""
    view = np.frombuffer(data, np.uint8)
    return b"".join(view[start::GROUP].tobytes() for start in range(GROUP))


def _ungroup(data: Bytes) -> bytes:
    grouped = np.frombuffer(data, np.uint8)
    plain = np.empty_like(grouped)
    position = 0
    for start in range(GROUP):
        part = plain[start::GROUP]
        part[:] = grouped[position : position + len(part)]
        position += len(part)
    return plain.tobytes()
