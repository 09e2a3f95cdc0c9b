from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kernelmill.binary import elf
from kernelmill.binary.errors import BinaryError
from kernelmill.binary.symbols import Linkage, highest_versions, read_linkage, read_needed_versions

if TYPE_CHECKING:
    from tests.unit.binary.conftest import LibraryWriter

WANTS = (
    ("hipLaunchKernel", "hip_4.2", "libamdhip64.so.7"),
    ("memcpy", "GLIBC_2.14", "libc.so.6"),
    ("stat", "GLIBC_2.33", "libc.so.6"),
    ("_ZNSt6vectorIiE", "GLIBCXX_3.4.30", "libstdc++.so.6"),
    ("PyList_New", "", ""),
)


def linkage_of(data: bytes) -> Linkage:
    return read_linkage(elf.parse(data, where="k.so"))


@pytest.mark.parametrize("has_gnu_hash", [False, True], ids=["hash", "gnu-hash"])
def test_linkage_is_read_when_there_are_no_section_headers(
    write_library: LibraryWriter, has_gnu_hash: bool
) -> None:
    linkage = linkage_of(
        write_library(
            needed=("libamdhip64.so.7", "libc.so.6"),
            soname="_k.abi3.so",
            runpath="$ORIGIN/../lib:/opt/rocm/lib",
            wants=WANTS,
            offers=("PyInit_k", "launch"),
            has_gnu_hash=has_gnu_hash,
        )
    )
    assert linkage.needed == ("libamdhip64.so.7", "libc.so.6")
    assert linkage.soname == "_k.abi3.so"
    assert linkage.runpath == ("$ORIGIN/../lib", "/opt/rocm/lib")
    assert [str(reference) for reference in linkage.undefined] == [
        "PyList_New",
        "_ZNSt6vectorIiE@GLIBCXX_3.4.30",
        "hipLaunchKernel@hip_4.2",
        "memcpy@GLIBC_2.14",
        "stat@GLIBC_2.33",
    ]
    assert [reference.library for reference in linkage.undefined] == [
        "", "libstdc++.so.6", "libamdhip64.so.7", "libc.so.6", "libc.so.6",
    ]  # fmt: skip
    assert [str(reference) for reference in linkage.defined] == ["PyInit_k", "launch"]
    assert linkage.needed_versions == ("GLIBCXX_3.4.30", "GLIBC_2.14", "GLIBC_2.33", "hip_4.2")


def test_floors_are_the_highest_versions_when_several_are_wanted(
    write_library: LibraryWriter,
) -> None:
    floors = linkage_of(write_library(wants=WANTS)).version_floors
    assert floors == {"GLIBC": (2, 33), "GLIBCXX": (3, 4, 30)}


def test_undefined_symbols_are_read_when_gnu_hash_holds_nothing(
    write_library: LibraryWriter,
) -> None:
    linkage = linkage_of(write_library(wants=WANTS, has_gnu_hash=True))
    assert len(linkage.undefined) == len(WANTS)
    assert linkage.defined == ()


def test_highest_versions_compares_numbers_when_text_would_sort_otherwise() -> None:
    versions = [
        "GLIBC_2.9",
        "GLIBC_2.14",
        "CXXABI_1.3.9",
        "CXXABI_1.3.13",
        "GLIBC_PRIVATE",
        "hip_4.2",
    ]
    assert highest_versions(versions) == {"CXXABI": (1, 3, 13), "GLIBC": (2, 14)}


def test_linkage_is_empty_when_there_is_no_dynamic_section(write_library: LibraryWriter) -> None:
    data = bytearray(write_library(needed=("libc.so.6",), wants=WANTS))
    struct.pack_into("<I", data, 64 + 56, 0)  # PT_DYNAMIC becomes PT_NULL
    linkage = linkage_of(bytes(data))
    assert (linkage.needed, linkage.undefined, linkage.soname) == ((), (), "")


def test_linkage_refuses_when_a_version_number_has_no_name(write_library: LibraryWriter) -> None:
    data = write_library(wants=(("memcpy", "GLIBC_2.14", "libc.so.6"),))
    before, table, after = data.rpartition(struct.pack("<HHI", 0, 2, 0))
    assert table
    damaged = before + struct.pack("<HHI", 0, 77, 0) + after
    with pytest.raises(BinaryError, match="symbol 'memcpy' has version 77, which has no name"):
        linkage_of(damaged)


def test_needed_versions_are_those_of_the_symbols(write_library: LibraryWriter) -> None:
    data = write_library(needed=("libc.so.6",), wants=WANTS)
    assert set(read_needed_versions(elf.parse(data))) == {
        "hip_4.2",
        "GLIBC_2.14",
        "GLIBC_2.33",
        "GLIBCXX_3.4.30",
    }


def test_needed_versions_are_none_when_nothing_is_wanted(write_library: LibraryWriter) -> None:
    assert read_needed_versions(elf.parse(write_library())) == ()
