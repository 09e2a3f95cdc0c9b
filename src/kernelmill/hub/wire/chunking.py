"""Cut a file into chunks where its content says so, exactly as hf-xet does.

A boundary is where a rolling hash of the last 64 bytes has 16 leading zero bits; the hash shifts
by one bit for each byte, so older bytes have left it. That lets NumPy compute the hash of every
position of a window at once: six doublings give the sum over 64 bytes.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator

    from numpy.typing import NDArray

MIN_BYTES: Final = 8 * 1024
MAX_BYTES: Final = 128 * 1024
BOUNDARY: Final = np.uint64(1 << 48)
"""Hashes below this end a chunk: one in 65536."""
REACH: Final = 63
"""How many earlier bytes a hash depends on."""
WINDOW_BYTES: Final = 16 * 1024  # its arrays fit into a core's cache
DOUBLINGS: Final = (1, 2, 4, 8, 16, 32)


@cache
def _table() -> NDArray[np.uint64]:
    text = files("kernelmill.hub.wire").joinpath("data/gearhash_table.json").read_text("utf-8")
    return np.array([int(value, 16) for value in json.loads(text)["values_hex"]], np.uint64)


def chunk_ends(data: bytes | mmap.mmap | memoryview) -> Iterator[int]:
    """Yield where each chunk of ``data`` ends; it is read window by window."""
    start, total = 0, len(data)
    for hit in _boundaries(data):
        while hit - start > MAX_BYTES:
            start += MAX_BYTES
            yield start
        if hit - start >= MIN_BYTES:
            start = hit
            yield start
    while start < total:
        start = min(start + MAX_BYTES, total)
        yield start


def _boundaries(data: bytes | mmap.mmap | memoryview) -> Iterator[int]:
    """Yield every place after which the hash would end a chunk, were it long enough."""
    table = _table()
    view = np.frombuffer(data, np.uint8) if len(data) else np.empty(0, np.uint8)
    sums = np.empty(WINDOW_BYTES + REACH, np.uint64)
    shifted = np.empty_like(sums)
    for start in range(0, len(view), WINDOW_BYTES):
        first = max(start - REACH, 0)
        window = view[first : start + WINDOW_BYTES]
        hashes = sums[: len(window)]
        np.take(table, window, out=hashes, mode="clip")
        for k in DOUBLINGS:
            if k < len(hashes):
                earlier = shifted[: len(hashes) - k]
                np.left_shift(hashes[:-k], np.uint64(k), out=earlier)
                hashes[k:] += earlier
        for hit in np.flatnonzero(hashes[start - first :] < BOUNDARY):
            yield start + int(hit) + 1
