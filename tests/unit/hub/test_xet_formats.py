"""Hashes, cuts, xorbs, shards, pointers and attributes: the formats of large files."""

from __future__ import annotations

import random
import struct
from itertools import pairwise

import lz4.frame  # type: ignore[import-untyped]  # lz4 ships no types
import pytest
from tests.xet_objects import make_xorb, render_shard, whole_file

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.wire.attributes import is_large, parse_attributes
from kernelmill.hub.wire.chunking import MAX_BYTES, MIN_BYTES, chunk_ends
from kernelmill.hub.wire.hashes import (
    EMPTY_FILE,
    chunk_hash,
    file_hash,
    hash_text,
    keyed_hash,
    merkle_root,
    parse_hash,
    range_hash,
)
from kernelmill.hub.wire.pointers import Pointer, parse_pointer, render_pointer
from kernelmill.hub.wire.shards import (
    BOOKEND,
    CHUNK,
    FILE,
    HEADER,
    MAGIC,
    XORB,
    parse_shard,
    render_dedup_shard,
)
from kernelmill.hub.wire.xorbs import HEADER as CHUNK_HEADER
from kernelmill.hub.wire.xorbs import XorbIndex, encode, group, read_xorb

MEBIBYTE = random.Random(1).randbytes(1_000_000)


def nodes_of(data: bytes) -> list[tuple[bytes, int]]:
    cuts = pairwise([0, *chunk_ends(data)])
    return [(chunk_hash(data[start:end]), end - start) for start, end in cuts]


def stored(payload: bytes, scheme: int, size: int) -> bytes:
    lengths = (len(payload).to_bytes(3, "little"), size.to_bytes(3, "little"))
    return CHUNK_HEADER.pack(0, lengths[0], scheme, lengths[1]) + payload


# The values are those of hf-xet 1.8 for the same bytes.
@pytest.mark.parametrize(
    ("data", "chunks", "xorb", "file"),
    [
        pytest.param(
            b"Hello World!",
            1,
            "d8d408e608fb9ca213b9909a65d86d725f2de4d8d540324be8a363e7a6e228cb",
            "a9dae0ad88b060bdd7e7c87abdcf95b132c95a0414b06d4f6beb68d287b87165",
            id="one-chunk",
        ),
        pytest.param(
            MEBIBYTE,
            14,
            "eee84f9bab983dd759b519f0a10762844dfc7d38e15381b4a51176c03a0e08f4",
            "a884beadb56048184e8b0a0ba0106b8739b50a866212b0a0dda5d59d0ec03a4a",
            id="noise",
        ),
        pytest.param(
            bytes(1_000_000),
            8,
            "66df762464541c4b4525314f0cb292f49017a961ce8c95b5a2ced973fdbf7527",
            "c0c85185f4307d40facfd366573176e54fc9c76041e44e32d52489780a6d1eaa",
            id="zeros",
        ),
    ],
)
def test_hashes_are_those_of_the_protocol(data: bytes, chunks: int, xorb: str, file: str) -> None:
    nodes = nodes_of(data)
    assert len(nodes) == chunks
    assert hash_text(merkle_root(nodes)) == xorb
    assert hash_text(file_hash(nodes)) == file
    assert parse_hash(file) == file_hash(nodes)


def test_range_hash_is_that_of_the_protocol() -> None:
    joined = b"".join(raw for raw, _ in nodes_of(MEBIBYTE))
    wanted = "126e151eff0bfa11f4a05892f9c6ef74e5a831a8b2bb880a7f8c21c8de3e2ec1"
    assert hash_text(range_hash(joined)) == wanted
    assert [size for _, size in nodes_of(MEBIBYTE)[:8]] == [
        43634, 131072, 58382, 117044, 29067, 50761, 75887, 131072,
    ]  # fmt: skip


def test_file_without_bytes_has_the_hash_of_zeros() -> None:
    assert list(chunk_ends(b"")) == []
    assert file_hash([]) == EMPTY_FILE
    with pytest.raises(InvalidRequest, match="'ABC' is not a hash: 64 lower-case hex digits"):
        parse_hash("ABC")


def cut_by_bytes(data: bytes) -> list[int]:
    """Cut as the protocol's text says, byte by byte."""
    from kernelmill.hub.wire.chunking import _table

    table = [int(value) for value in _table()]
    ends, start, rolling = [], 0, 0
    for place, byte in enumerate(data, start=1):
        rolling = ((rolling << 1) + table[byte]) & (1 << 64) - 1
        if (place - start >= MIN_BYTES and rolling >> 48 == 0) or place - start == MAX_BYTES:
            ends.append(place)
            start, rolling = place, 0
    return ends if ends[-1:] == [len(data)] or not data else [*ends, len(data)]


@pytest.mark.parametrize("seed", range(2))
def test_cuts_are_those_of_the_byte_by_byte_rule(seed: int) -> None:
    dice = random.Random(seed)
    data = dice.randbytes(150_000) + bytes(dice.randrange(180_000)) + dice.randbytes(20_000)
    assert list(chunk_ends(data)) == cut_by_bytes(data)


def test_xorb_is_read_whatever_its_compression() -> None:
    text = b"four" * 9001 + b"end"
    body = (
        stored(MEBIBYTE[:1000], 0, 1000)
        + encode(text)
        + stored(lz4.frame.compress(text, content_checksum=True), 1, len(text))
        + stored(lz4.frame.compress(group(text)), 2, len(text))
    )
    name, index = read_xorb(body + b"XETBLOB\0footer")
    wanted = [(chunk_hash(MEBIBYTE[:1000]), 1000), *[(chunk_hash(text), len(text))] * 3]
    assert index.nodes() == wanted
    assert name == merkle_root(wanted)
    assert index.stored_bytes == len(body)
    assert XorbIndex.from_bytes(index.to_bytes()).nodes() == wanted
    assert index.place(1, 2) == range(1008, 1008 + len(encode(text)))


BOMB = lz4.frame.compress(bytes(1 << 26))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "the xorb holds no chunk", id="empty"),
        pytest.param(b"\0\0\0", "byte 0: the xorb ends inside a chunk's header", id="header"),
        pytest.param(stored(b"abc", 0, 3)[:-1], "the xorb ends inside a chunk", id="chunk"),
        pytest.param(stored(b"abc", 0, 4), "holds 3 bytes, its header says 4", id="length"),
        pytest.param(stored(b"abc", 3, 3), "unknown chunk version 0, scheme 3", id="scheme"),
        pytest.param(stored(b"", 0, 0), "a chunk of 0 bytes: 1 to 131072", id="no-bytes"),
        pytest.param(stored(b"no frame" * 4, 1, 3), "a chunk is not LZ4", id="no-lz4"),
        pytest.param(stored(BOMB, 1, 1000), "not one whole LZ4 frame of 1000 bytes", id="bomb"),
        pytest.param(
            stored(lz4.frame.compress(b"abc")[:-4], 1, 3), "not one whole LZ4 frame", id="no-end"
        ),
        pytest.param(
            stored(lz4.frame.compress(b"abc") + b"x", 1, 3), "not one whole LZ4 frame", id="more"
        ),
        pytest.param(stored(b"a", 0, 1) * 8193, "more than 8192 chunks", id="many"),
    ],
)
def test_xorb_is_refused_when_malformed(body: bytes, text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_xorb(body)
    assert text in str(refused.value)


def test_uploaded_shard_is_read() -> None:
    content = [b"a" * 9000, b"b" * 10]
    name, _, index = make_xorb(content)
    file = whole_file(content)
    shard = parse_shard(render_shard([file, file], [(name, index)]))
    assert shard.xorbs == (name,)
    assert [(f.hash, f.sha256, f.size_bytes) for f in shard.files] == [
        (file.hash, file.sha256, 9010)
    ] * 2
    assert shard.files[0].terms.tobytes() == file.terms.tobytes()


HEAD = HEADER.pack(MAGIC, 2, 0)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "byte 0: the shard ends too early", id="empty"),
        pytest.param(HEADER.pack(MAGIC, 3, 0), "not a shard of version 2", id="version"),
        pytest.param(HEADER.pack(bytes(32), 2, 0), "not a shard of version 2", id="magic"),
        pytest.param(HEAD, "byte 48: the shard ends too early", id="no-files"),
        pytest.param(
            HEAD + FILE.pack(bytes(32), 0, 0xFFFFFFFF, 0), "byte 96: the shard ends", id="terms"
        ),
        pytest.param(
            HEAD + BOOKEND + XORB.pack(bytes(32), 0, 0xFFFFFFFF, 0, 0),
            "byte 144: the shard ends",
            id="chunks",
        ),
        pytest.param(
            HEAD + FILE.pack(bytes(32), 0, 0, 0) * 20_001, "more than 20000 files", id="files"
        ),
    ],
)
def test_shard_is_refused_when_malformed(body: bytes, text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_shard(body)
    assert text in str(refused.value)


def test_dedup_shard_hides_the_hashes_it_names() -> None:
    name, _, index = make_xorb([b"a" * 9000, b"b" * 10])
    key = bytes(range(32))
    shard = render_dedup_shard([(name, index)], key=key, created_s=1, expires_s=2)
    _, _, footer_size = HEADER.unpack_from(shard)
    assert footer_size == 200
    assert name in shard
    (footer_at,) = struct.unpack("<Q", shard[-8:])
    assert len(shard) - footer_at == 200
    assert index.hash_at(0) not in shard
    first = CHUNK.unpack_from(shard, 3 * 48)
    second = CHUNK.unpack_from(shard, 4 * 48)
    assert first[:3] == (keyed_hash(key, index.hash_at(0)), 0, 9000)
    assert second[:3] == (keyed_hash(key, index.hash_at(1)), 9000, 10)


def test_pointer_is_what_it_says_and_nothing_else() -> None:
    pointer = Pointer("ab" * 32, 12)
    text = render_pointer(pointer)
    assert parse_pointer(text) == pointer
    assert parse_pointer(text + b"more") is None
    assert parse_pointer(text.replace(b"ab", b"AB")) is None
    assert parse_pointer(b"") is None


RULES = parse_attributes(
    "*.so filter=lfs diff=lfs merge=lfs -text\n# *.txt filter=lfs\n[attr]x filter=lfs\n\n"
    "data/**/x?.txt filter=lfs\n/top.txt filter=lfs\n*.so -filter\nnotes/* text\n"
)


@pytest.mark.parametrize(
    ("path", "size", "sample", "wanted"),
    [
        pytest.param("a.txt", 5, b"text", False, id="text"),
        pytest.param("a.txt", 5, b"\0", True, id="zero-byte"),
        pytest.param("a.txt", 5, b"\xff\xfe", True, id="not-utf-8"),
        pytest.param("a.txt", 5, "ä".encode()[:1], False, id="character-cut-in-two"),
        pytest.param("a.txt", 11 << 20, b"text", True, id="size"),
        pytest.param("b/a.so", 5, b"\0", False, id="last-line-counts"),
        pytest.param("b/a.so", 11 << 20, b"\0", True, id="too-large-for-git"),
        pytest.param("data/x1.txt", 5, b"text", True, id="no-folder-between"),
        pytest.param("data/a/b/x1.txt", 5, b"text", True, id="folders-between"),
        pytest.param("data/x12.txt", 5, b"text", False, id="one-character"),
        pytest.param("top.txt", 5, b"text", True, id="top"),
        pytest.param("b/top.txt", 5, b"text", False, id="not-top"),
    ],
)
def test_large_files_are_told_by_rules_size_and_content(
    path: str, size: int, sample: bytes, *, wanted: bool
) -> None:
    assert is_large(path, size, sample, RULES) is wanted
