from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelmill.binary import pe
from kernelmill.binary.errors import BinaryError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BASE, START = 0x1000, 0x200


def module(imports: Mapping[str, Sequence[str | int]], *, magic: int = 0x20B) -> bytes:
    """The smallest PE file with an import table; an int is an import by number."""
    body = bytearray(20 * (len(imports) + 1))
    for index, (library, names) in enumerate(imports.items()):
        thunks = []
        for name in names:
            thunks.append(1 << 63 | name if isinstance(name, int) else BASE + len(body))
            if isinstance(name, str):
                body += b"\0\0" + name.encode() + b"\0"
        lookup = BASE + len(body)
        body += struct.pack(f"<{len(thunks) + 1}Q", *thunks, 0)
        struct.pack_into("<IIIII", body, 20 * index, lookup, 0, 0, BASE + len(body), 0)
        body += library.encode() + b"\0"
    optional = (
        struct.pack("<H", magic) + bytes(110) + bytes(8) + struct.pack("<II", BASE, len(body))
    )
    coff = struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, len(optional), 0x2000)
    section = struct.pack("<8sIIII16x", b".rdata", len(body), BASE, len(body), START)
    head = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + coff + optional + section
    return head + bytes(START - len(head)) + bytes(body)


def test_imports_are_read_by_library() -> None:
    data = module({"python3.dll": ["PyModule_Create2", "PyList_New"], "torch_cpu.dll": [7, "f"]})
    assert pe.parse_imports(data) == (
        pe.Import(library="python3.dll", names=("PyModule_Create2", "PyList_New")),
        pe.Import(library="torch_cpu.dll", names=("f",)),
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(b"MZ" + bytes(100), "not a PE file", id="program-of-dos"),
        pytest.param(module({}, magic=0x10B), "not a 64-bit PE file: 0x10b", id="32-bit"),
        pytest.param(module({"a.dll": ["f"]})[:530], "an import is outside|no section", id="cut"),
        pytest.param(b"MZ", "the DOS header is outside", id="short"),
    ],
)
def test_damage_is_one_clear_error(data: bytes, problem: str) -> None:
    with pytest.raises(BinaryError, match=problem):
        pe.parse_imports(data, where="k.pyd")


@settings(max_examples=100, deadline=None)
@given(flips=st.lists(st.tuples(st.integers(0, 4096), st.integers(1, 255)), max_size=5))
def test_reading_survives_when_bits_are_flipped(flips: list[tuple[int, int]]) -> None:
    data = bytearray(module({"python3.dll": ["PyList_New"], "k.dll": ["f", "g"]}))
    for position, mask in flips:
        data[position % len(data)] ^= mask
    try:
        pe.parse_imports(bytes(data))
    except BinaryError as error:
        assert error.problem  # noqa: PT017 - any outcome but another exception is right
