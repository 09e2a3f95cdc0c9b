"""Xorbs and shards made by hand, as a client would make them, or as nobody should."""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

import numpy as np

from kernelmill.hub.wire.hashes import chunk_hash, file_hash, merkle_root, range_hash
from kernelmill.hub.wire.shards import (
    BOOKEND,
    CHUNK,
    FILE,
    HAS_PROOFS,
    HAS_SHA256,
    HEADER,
    MAGIC,
    PROOF,
    TERM,
    VERSION,
    XORB,
    ShardFile,
)
from kernelmill.hub.wire.xorbs import XorbIndex, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def make_xorb(chunks: Sequence[bytes]) -> tuple[bytes, bytes, XorbIndex]:
    """Return a xorb's hash, its bytes and its index."""
    stored = [encode(chunk) for chunk in chunks]
    ends = np.cumsum([len(each) for each in stored]).tolist()
    rows = [(chunk_hash(c), len(c), end) for c, end in zip(chunks, ends, strict=True)]
    return merkle_root([row[:2] for row in rows]), b"".join(stored), XorbIndex.from_chunks(rows)


def make_file(ranges: Sequence[tuple[bytes, XorbIndex, int, int]], sha256: str | None) -> ShardFile:
    """Return a file of (xorb, its index, first chunk, last plus one)."""
    nodes = [node for _, index, start, end in ranges for node in index.nodes(start, end)]
    terms = [(name, 0, index.size(start, end), start, end) for name, index, start, end in ranges]
    proofs = [(range_hash(index.hashes(start, end)), b"") for _, index, start, end in ranges]
    return ShardFile(
        hash=file_hash(nodes),
        terms=np.array(terms, TERM),
        proofs=np.array(proofs, PROOF),
        sha256=sha256,
    )


def whole_file(chunks: Sequence[bytes]) -> ShardFile:
    """Return the file that is one whole xorb."""
    name, _, index = make_xorb(chunks)
    sha256 = hashlib.sha256(b"".join(chunks)).hexdigest()
    return make_file([(name, index, 0, len(index))], sha256)


def render_shard(files: Iterable[ShardFile], xorbs: Iterable[tuple[bytes, XorbIndex]]) -> bytes:
    """Return a shard as a client uploads it."""
    rows = [HEADER.pack(MAGIC, VERSION, 0)]
    for file in files:
        flags = HAS_PROOFS if file.proofs is not None else 0
        flags |= HAS_SHA256 if file.sha256 is not None else 0
        rows += [FILE.pack(file.hash, flags, len(file.terms), 0), file.terms.tobytes()]
        if file.proofs is not None:
            rows.append(file.proofs.tobytes())
        if file.sha256 is not None:
            words = [int(file.sha256[i : i + 16], 16) for i in range(0, 64, 16)]
            rows.append(struct.pack("<4Q 16x", *words))
    rows.append(BOOKEND)
    for name, index in xorbs:
        rows.append(XORB.pack(name, 0, len(index), index.raw_bytes, 0))
        rows += [CHUNK.pack(raw, 0, size, 0, 0) for raw, size in index.nodes()]
    return b"".join([*rows, BOOKEND])
