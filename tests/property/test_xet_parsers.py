"""Whatever bytes come as a xorb or a shard: an answer or a refusal, in little memory."""

from __future__ import annotations

import random
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.xet_objects import make_xorb, render_shard, whole_file

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.wire.chunking import MAX_BYTES, MIN_BYTES, chunk_ends
from kernelmill.hub.wire.pointers import Pointer, parse_pointer, render_pointer
from kernelmill.hub.wire.shards import parse_shard
from kernelmill.hub.wire.xorbs import MAX_CHUNKS, read_xorb

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.property

CHUNKS = [random.Random(0).randbytes(300), b"text " * 100, b"x"]
XORB_NAME, XORB, INDEX = make_xorb(CHUNKS)
SHARD = render_shard([whole_file(CHUNKS)] * 2, [(XORB_NAME, INDEX)])
MEMORY_BYTES = 8 * 1024 * 1024
"""More than reading a few kilobytes takes, less than any count in them could ask for."""


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """Return ``good`` with bytes changed, cut out, doubled or cut off."""
    data = bytearray(good)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        piece = draw(st.binary(max_size=12))
        end = start + draw(st.integers(0, 12))
        data[start:end] = piece
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def refuses_or_reads(read: Callable[[bytes], object], body: bytes) -> None:
    tracemalloc.start()
    try:
        read(body)
    except InvalidRequest:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MEMORY_BYTES


@given(damaged(XORB))
def test_xorb_is_read_or_refused_whatever_it_holds(body: bytes) -> None:
    refuses_or_reads(read_xorb, body)


@given(damaged(SHARD))
def test_shard_is_read_or_refused_whatever_it_holds(body: bytes) -> None:
    refuses_or_reads(parse_shard, body)


@given(st.binary(max_size=400))
def test_noise_is_refused(body: bytes) -> None:
    refuses_or_reads(read_xorb, body)
    refuses_or_reads(parse_shard, body)


@given(st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=20))
def test_xorb_comes_back_as_it_was_made(chunks: list[bytes]) -> None:
    name, body, index = make_xorb(chunks)
    found, read = read_xorb(body)
    assert found == name
    assert read.nodes() == index.nodes()
    assert len(read) <= MAX_CHUNKS


@given(st.integers(0, 2**32), st.integers(0, 600_000), st.integers(0, 300_000))
def test_cuts_cover_the_file_and_keep_their_limits(seed: int, noise: int, zeros: int) -> None:
    data = random.Random(seed).randbytes(noise) + bytes(zeros)
    ends = list(chunk_ends(data))
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    assert sum(sizes) == len(data)
    assert all(MIN_BYTES <= size <= MAX_BYTES for size in sizes[:-1])
    assert all(0 < size <= MAX_BYTES for size in sizes[-1:])


@given(st.binary(max_size=200))
def test_pointer_is_read_only_when_it_is_exactly_one(text: bytes) -> None:
    found = parse_pointer(text)
    assert found is None or render_pointer(found) == text


@given(st.binary(min_size=32, max_size=32), st.integers(0, 10**17))
def test_pointer_comes_back(raw: bytes, size: int) -> None:
    pointer = Pointer(raw.hex(), size)
    assert parse_pointer(render_pointer(pointer)) == pointer
