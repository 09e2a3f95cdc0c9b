from __future__ import annotations

import struct

import pytest

from kernelmill.binary import elf
from kernelmill.binary.errors import BinaryError


def patched(data: bytes, offset: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, offset, value)
    return bytes(changed)


def test_header_is_read_when_file_is_device_code(code_object: bytes) -> None:
    file = elf.parse(code_object)
    assert (file.machine, file.os_abi, file.abi_version) == (elf.MACHINE_AMDGPU, 64, 3)
    assert [section.name for section in file.sections[:4]] == ["", ".note", ".dynsym", ".gnu.hash"]


def test_symbols_come_from_the_full_table_when_there_is_one(code_object: bytes) -> None:
    symbols = {symbol.name: symbol for symbol in elf.parse(code_object).symbols()}
    assert symbols["fp8_tile"].kind == elf.SYMBOL_FUNCTION
    assert symbols["fp8_tile.kd"].size == 64


def test_bytes_are_found_when_address_differs_from_offset(code_object: bytes) -> None:
    file = elf.parse(code_object)
    text = file.section(".text")
    assert text is not None
    assert text.address != text.offset
    assert file.bytes_at(text.address, 8, "code") == file.content(text)[:8]


def test_content_is_empty_when_section_has_no_bytes(code_object: bytes) -> None:
    file = elf.parse(code_object)
    bss = file.section(".bss")
    assert bss is not None
    assert bss.size > 0
    assert file.content(bss) == b""


def test_notes_are_read_when_owner_is_padded(code_object: bytes) -> None:
    assert [(note.owner, note.type) for note in elf.parse(code_object).notes()] == [("AMDGPU", 32)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "k.so: not an ELF file: it starts with b''", id="empty"),
        pytest.param(b"!<arch>\n", "k.so: not an ELF file: it starts with b'!<ar'", id="archive"),
        pytest.param(b"\x7fELF\x02\x01", "the ELF header is outside the file", id="cut-header"),
    ],
)
def test_parse_refuses_when_bytes_are_no_elf(data: bytes, message: str) -> None:
    with pytest.raises(BinaryError) as caught:
        elf.parse(data, where="k.so")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("offset", "layout", "value", "message"),
    [
        pytest.param(4, "<B", 1, "ELF class 1, encoding 1: only 64-bit", id="32-bit"),
        pytest.param(5, "<B", 2, "ELF class 2, encoding 2: only 64-bit", id="big-endian"),
        pytest.param(54, "<H", 32, "program headers have 32 bytes each, want 56", id="phentsize"),
        pytest.param(58, "<H", 40, "section headers have 40 bytes each, want 64", id="shentsize"),
        pytest.param(32, "<Q", 1 << 60, "the program header table is outside the file", id="phoff"),
        pytest.param(40, "<Q", 1 << 60, "the first section header is outside", id="shoff"),
        pytest.param(62, "<H", 99, "section names are in section 99, but there are", id="shstrndx"),
    ],
)
def test_parse_refuses_when_header_is_damaged(
    code_object: bytes, offset: int, layout: str, value: int, message: str
) -> None:
    with pytest.raises(BinaryError, match=message) as caught:
        elf.parse(patched(code_object, offset, layout, value), where="k.co")
    assert str(caught.value).startswith("k.co: ")


def test_sections_are_counted_in_section_0_when_they_are_too_many_for_the_header(
    code_object: bytes,
) -> None:
    table = struct.unpack_from("<Q", code_object, 40)[0]
    count, names = struct.unpack_from("<HH", code_object, 60)
    data = patched(patched(code_object, 60, "<H", 0), 62, "<H", 0xFFFF)
    data = patched(patched(data, table + 32, "<Q", count), table + 40, "<I", names)
    assert elf.parse(data).sections[1:] == elf.parse(code_object).sections[1:]


def test_offset_of_refuses_when_nothing_is_loaded_there(code_object: bytes) -> None:
    with pytest.raises(BinaryError, match="entry is at address 0xdead0000, which no segment loads"):
        elf.parse(code_object).offset_of(0xDEAD0000, "entry")
