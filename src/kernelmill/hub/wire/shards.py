"""Shards: what files are made of. Read those of uploads, write those that answer dedup queries.

All numbers are little-endian, all records 48 bytes. Nothing here trusts a count: what a shard
says it holds must lie within its bytes. Source: facts of the Xet protocol as hf-xet 1.8 speaks it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.wire.hashes import HASH_BYTES, hash_text, keyed_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kernelmill.hub.wire.xorbs import XorbIndex

MAGIC: Final = bytes.fromhex("48465265706f4d6574614461746100556967456a7b815783a5bdd95ccdd14aa9")
VERSION: Final = 2
FOOTER_VERSION: Final = 1
FOOTER_BYTES: Final = 200
RECORD_BYTES: Final = 48
BOOKEND: Final = b"\xff" * HASH_BYTES + bytes(16)

HEADER: Final = struct.Struct("<32sQQ")
FILE: Final = struct.Struct("<32sIIQ")
XORB: Final = struct.Struct("<32sIIII")
CHUNK: Final = struct.Struct("<32sIIII")
TERM: Final = np.dtype(
    [("xorb", "V32"), ("flags", "<u4"), ("size", "<u4"), ("start", "<u4"), ("end", "<u4")]
)
PROOF: Final = np.dtype([("hash", "V32"), ("unused", "V16")])

HAS_PROOFS: Final = 1 << 31
HAS_SHA256: Final = 1 << 30
IS_ELIGIBLE: Final = 1 << 31
"""The chunk is one of those for which clients ask whether the Hub knows them."""
MAX_FILES: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFile:
    """A file as an upload describes it."""

    hash: bytes
    terms: NDArray[np.void]
    """Ranges of chunks, ``TERM``."""
    proofs: NDArray[np.void] | None
    """For each term what proves that the client knows its chunks, ``PROOF``."""
    sha256: str | None

    @property
    def size_bytes(self) -> int:
        """The number of bytes of the file."""
        return int(self.terms["size"].sum(dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """An uploaded shard."""

    files: tuple[ShardFile, ...]
    xorbs: tuple[bytes, ...]
    """The xorbs that the client made."""


def parse_shard(body: bytes) -> Shard:
    """Read an uploaded shard.

    Raises:
        InvalidRequest: it is malformed; names the byte.
    """
    reader = _Reader(body)
    magic, version, _ = HEADER.unpack(reader.take(HEADER.size))
    if magic != MAGIC or version != VERSION:
        raise InvalidRequest(f"not a shard of version {VERSION}")
    files: list[ShardFile] = []
    while (record := reader.take(RECORD_BYTES)) != BOOKEND:
        if len(files) == MAX_FILES:
            raise InvalidRequest(f"the shard holds more than {MAX_FILES} files")
        files.append(_read_file(reader, record))
    xorbs = []
    while (record := reader.take(RECORD_BYTES)) != BOOKEND:
        name, _, chunks, _, _ = XORB.unpack(record)
        # Chunks are known from the xorb itself, which the Hub has read.
        reader.take(chunks * RECORD_BYTES)
        xorbs.append(name)
    return Shard(files=tuple(files), xorbs=tuple(xorbs))


def render_dedup_shard(
    xorbs: Sequence[tuple[bytes, XorbIndex]], *, key: bytes, created_s: int, expires_s: int
) -> bytes:
    """Return a shard that names xorbs and their chunks; the chunks' hashes are keyed."""
    section = b"".join(_xorb_records(name, index, key) for name, index in xorbs) + BOOKEND
    head = HEADER.pack(MAGIC, VERSION, FOOTER_BYTES) + BOOKEND
    footer_at = len(head) + len(section)
    raw = sum(index.raw_bytes for _, index in xorbs)
    stored = sum(index.stored_bytes for _, index in xorbs)
    footer = struct.pack(
        "<3Q 2Q 2Q 2Q 32s 2Q 48x 4Q",
        *(FOOTER_VERSION, HEADER.size, len(head)),
        *(footer_at, 0, footer_at, 0, footer_at, 0),
        key,
        *(created_s, expires_s),
        *(stored, raw, stored, footer_at),
    )
    return head + section + footer


def _xorb_records(name: bytes, index: XorbIndex, key: bytes) -> bytes:
    head = XORB.pack(name, 0, len(index), index.raw_bytes, index.stored_bytes)
    offset = 0
    rows = [head]
    for raw, size in index.nodes():
        rows.append(CHUNK.pack(keyed_hash(key, raw), offset, size, 0, 0))
        offset += size
    return b"".join(rows)


def _read_file(reader: _Reader, record: bytes) -> ShardFile:
    name, flags, count, _ = FILE.unpack(record)
    terms = np.frombuffer(reader.take(count * RECORD_BYTES), TERM)
    proofs = None
    if flags & HAS_PROOFS:
        proofs = np.frombuffer(reader.take(count * RECORD_BYTES), PROOF)
    sha256 = None
    if flags & HAS_SHA256:
        # The sum is stored so that it reads as hex in the way of the other hashes.
        sha256 = hash_text(reader.take(RECORD_BYTES)[:HASH_BYTES])
    return ShardFile(hash=name, terms=terms, proofs=proofs, sha256=sha256)


class _Reader:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._position = 0

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        end = self._position + size
        if end > len(self._body):
            raise InvalidRequest("the shard ends too early", where=f"shard byte {self._position}")
        piece = self._body[self._position : end]
        self._position = end
        return piece
