from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.binary.errors import BinaryError
from kernelmill.binary.msgpack import DEEPEST, Key, Value, decode

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=300),
    st.binary(max_size=300),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=30,
)


def length(fix: int, limit: int, kinds: tuple[tuple[int, str], ...], size: int) -> bytes:
    if size < limit:
        return bytes([fix | size])
    for kind, layout in kinds:
        if size < 1 << 8 * struct.calcsize(layout):
            return bytes([kind]) + struct.pack(layout, size)
    raise AssertionError(size)


def encode_integer(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack("b" if value < 0 else "B", value)
    kinds = (0xD0, ">b", ">h", ">i", ">q") if value < 0 else (0xCC, ">B", ">H", ">I", ">Q")
    first, *layouts = kinds
    for index, layout in enumerate(layouts):
        try:
            return bytes([int(first) + index]) + struct.pack(str(layout), value)
        except struct.error:
            continue
    raise AssertionError(value)


def encode(value: Value) -> bytes:
    """The shortest encoding, written from the specification independently of the decoder."""
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return encode_integer(value)
        case float():
            return b"\xcb" + struct.pack(">d", value)
        case _:
            return encode_sized(value)


def encode_sized(value: str | bytes | list[Value] | dict[Key, Value]) -> bytes:
    match value:
        case str():
            kinds = ((0xD9, ">B"), (0xDA, ">H"), (0xDB, ">I"))
            return length(0xA0, 32, kinds, len(value.encode())) + value.encode()
        case bytes():
            return length(0, 0, ((0xC4, ">B"), (0xC5, ">H"), (0xC6, ">I")), len(value)) + value
        case list():
            head = length(0x90, 16, ((0xDC, ">H"), (0xDD, ">I")), len(value))
            return head + b"".join(map(encode, value))
        case dict():
            head = length(0x80, 16, ((0xDE, ">H"), (0xDF, ">I")), len(value))
            return head + b"".join(encode(key) + encode(held) for key, held in value.items())


@given(VALUES)
def test_decode_inverts_encode_when_value_is_any(value: Value) -> None:
    assert decode(encode(value)) == value


@given(st.binary(max_size=200))
def test_decode_raises_only_its_own_error_when_bytes_are_random(data: bytes) -> None:
    with contextlib.suppress(BinaryError):
        decode(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "a MessagePack value is outside the file", id="empty"),
        pytest.param(b"\xa5abc", "a MessagePack value is outside the file", id="cut-text"),
        pytest.param(b"\xdd\xff\xff\xff\xff", "a MessagePack value is outside", id="length-bomb"),
        pytest.param(b"\x01\x02", "1 bytes after a MessagePack value", id="more-bytes"),
        pytest.param(b"\xc1", "MessagePack type 0xc1 is not known", id="unused-type"),
        pytest.param(b"\xd4\x01\x02", "MessagePack type 0xd4 is not known", id="extension"),
        pytest.param(b"\x81\xc0\x01", "a MessagePack map has the key None", id="key-none"),
        pytest.param(b"\x91" * 99 + b"\xc0", f"nested more than {DEEPEST} deep", id="depth-bomb"),
    ],
)
def test_decode_refuses_when_bytes_are_damaged(data: bytes, message: str) -> None:
    with pytest.raises(BinaryError, match=message) as caught:
        decode(data, where="note")
    assert caught.value.where == "note"
