"""The hashes of Xet: chunks, Merkle roots of xorbs and files, and how they are written down.

Source: facts of the Xet protocol as hf-xet 1.8 speaks it.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from kernelmill.hub.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

HASH_BYTES: Final = 32
EMPTY_FILE: Final = bytes(HASH_BYTES)
"""The hash of a file without bytes."""

CHUNK_KEY: Final = bytes.fromhex("6697f5775b9550de3135cbaca597181c9de421109beb2b58b4d0b04b93adf229")
NODE_KEY: Final = bytes.fromhex("017ec5c7a5472996fd946666b48a02e65ddd536f37c76dd2f86352e64a53713f")
RANGE_KEY: Final = bytes.fromhex("7f1857d6ce56ed66127ff913e7a5c3f3a4cd26d5b5db49e64124987f28fb94c3")
NO_SALT: Final = bytes(HASH_BYTES)

MAX_CHILDREN: Final = 9
MEAN_CHILDREN: Final = 4
WORDS: Final = struct.Struct("<4Q")
LAST_WORD: Final = struct.Struct("<24xQ")
HASH_TEXT: Final = re.compile(r"[0-9a-f]{64}")


def hash_text(raw: bytes) -> str:
    """Write a hash as the protocol does: four little-endian words, each as 16 hex digits."""
    return "".join(f"{word:016x}" for word in WORDS.unpack(raw))


def parse_hash(text: str) -> bytes:
    """Read a hash written by ``hash_text``.

    Raises:
        InvalidRequest: it is something else.
    """
    if not HASH_TEXT.fullmatch(text):
        raise InvalidRequest(f"{text[:80]!r} is not a hash: 64 lower-case hex digits")
    return WORDS.pack(*(int(text[start : start + 16], 16) for start in range(0, 64, 16)))


def last_word(raw: bytes) -> int:
    """Return the last 64 bits of a hash, by which the protocol makes its choices."""
    word: int = LAST_WORD.unpack(raw)[0]
    return word


def chunk_hash(data: bytes | memoryview) -> bytes:
    """Return the hash of a chunk's bytes."""
    return blake3(data, key=CHUNK_KEY).digest()


def keyed_hash(key: bytes, raw: bytes) -> bytes:
    """Return a chunk's hash as replies to dedup queries hide it."""
    return blake3(raw, key=key).digest()


def range_hash(chunks: bytes) -> bytes:
    """Return what proves that a client knows a range of chunks; ``chunks`` are hashes in a row."""
    return blake3(chunks, key=RANGE_KEY).digest()


def merkle_root(nodes: Sequence[tuple[bytes, int]]) -> bytes:
    """Return the root over (hash, number of bytes) of chunks: the name of a xorb of them."""
    if not nodes:
        return EMPTY_FILE
    while len(nodes) > 1:
        nodes = _parents(nodes)
    return nodes[0][0]


def file_hash(nodes: Sequence[tuple[bytes, int]]) -> bytes:
    """Return the hash of a file made of chunks, given as (hash, number of bytes)."""
    return blake3(merkle_root(nodes), key=NO_SALT).digest() if nodes else EMPTY_FILE


def _parents(nodes: Sequence[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    parents = []
    start = 0
    while start < len(nodes):
        stop = start + _group_size(nodes, start)
        children = nodes[start:stop]
        text = "".join(f"{hash_text(raw)} : {size}\n" for raw, size in children)
        parents.append(
            (blake3(text.encode(), key=NODE_KEY).digest(), sum(size for _, size in children))
        )
        start = stop
    return parents


def _group_size(nodes: Sequence[tuple[bytes, int]], start: int) -> int:
    """Return how many nodes from ``start`` on share a parent; their hashes decide."""
    most = min(MAX_CHILDREN, len(nodes) - start)
    for place in range(2, most):
        if last_word(nodes[start + place][0]) % MEAN_CHILDREN == 0:
            return place + 1
    return most
