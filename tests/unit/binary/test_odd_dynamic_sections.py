"""Dynamic sections that are unlike what linkers write: read as the dynamic linker reads them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kernelmill.binary import elf
from kernelmill.binary.symbols import TAG_STRTAB, read_linkage, read_needed_versions

if TYPE_CHECKING:
    from tests.unit.binary.conftest import LibraryWriter


def repeat_string_table(data: bytes, *, before: int) -> bytes:
    """Return ``data`` whose first entry is a table of names that starts ``before`` bytes late."""
    found = elf.parse(data)
    (place,) = (it for it in found.segments if it.type == elf.SEGMENT_DYNAMIC)
    entries = list(struct.iter_unpack("<qQ", data[place.offset : place.offset + place.file_size]))
    (table,) = (value for tag, value in entries if tag == TAG_STRTAB)
    entries = [(TAG_STRTAB, table + before), *entries[1:]]
    packed = b"".join(struct.pack("<qQ", *it) for it in entries)
    return data[: place.offset] + packed + data[place.offset + place.file_size :]


def test_last_string_table_is_the_one_that_counts(write_library: LibraryWriter) -> None:
    """With the first, a library could show a check other names than ``ld.so`` reads."""
    wants = (("memcpy", "GLIBC_2.33", "libc.so.6"),)
    data = write_library(needed=("libplain.so", "libc.so.6"), wants=wants)
    shown = elf.parse(repeat_string_table(data, before=3))
    assert read_linkage(shown).needed == ("libc.so.6",)
    assert read_needed_versions(shown) == ("GLIBC_2.33",)


SEGMENTS = 64
SEGMENT_SIZE = 56


def test_size_of_the_dynamic_segment_hides_nothing(write_library: LibraryWriter) -> None:
    """``ld.so`` reads on to the end mark."""
    data = bytearray(write_library(needed=("libplain.so", "libc.so.6")))
    struct.pack_into("<Q", data, SEGMENTS + SEGMENT_SIZE + 32, 16)
    assert read_linkage(elf.parse(bytes(data))).needed == ("libplain.so", "libc.so.6")


def test_place_of_the_dynamic_segment_is_its_address(write_library: LibraryWriter) -> None:
    data = bytearray(write_library(needed=("libplain.so", "libc.so.6")))
    (offset,) = struct.unpack_from("<Q", data, SEGMENTS + SEGMENT_SIZE + 8)
    struct.pack_into("<Q", data, SEGMENTS + SEGMENT_SIZE + 8, offset + 16)
    assert read_linkage(elf.parse(bytes(data))).needed == ("libplain.so", "libc.so.6")
