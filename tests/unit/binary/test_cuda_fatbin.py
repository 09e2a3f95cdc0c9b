"""``axpy.fatbin``: ``axpy.cu`` by nvcc 13.0 for sm_80, sm_90a, sm_100f and compute_120."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernelmill.binary.cubin import CudaKernel, read_cubin
from kernelmill.binary.cuda_fatbin import FatEntry, parse_section, read_fat_entries
from kernelmill.binary.errors import BinaryError

FATBIN = (Path(__file__).parent / "data" / "axpy.fatbin").read_bytes()
FLAG_A, FLAG_F, LZ4, ZSTD = 1 << 20, 1 << 21, 1 << 13, 1 << 15


def entry(
    arch: int, *, kind: int = 2, flags: int = 0x11, data: bytes = b"code", compressed: int = 0
) -> bytes:
    padded = data + bytes(-len(data) % 8)
    fields = (kind, 0x101, 64, len(padded), compressed, 8, 1, arch, flags, 0)
    return struct.pack("<HHIQI4xHHI8xQ8xQ", *fields) + padded


def fatbin(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def host(section: bytes, name: bytes = b".nv_fatbin") -> bytes:
    """The smallest ELF file with one named section."""
    names = b"\0" + name + b"\0.shstrtab\0"
    header = struct.pack(
        "<4sBBBBB7xHHIQQQIHHHHHH",
        b"\x7fELF", 2, 1, 1, 0, 0, 1, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, 3, 2,
    )  # fmt: skip
    start = 64 + 3 * 64
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, start, len(section), 0, 0, 8, 0)
    sections += struct.pack(
        "<IIQQQQIIQQ", 2 + len(name), 3, 0, 0, start + len(section), len(names), 0, 0, 1, 0
    )
    return header + sections + section + names


def test_entries_of_a_compiled_file_are_those_that_cuobjdump_lists() -> None:
    entries = read_fat_entries(FATBIN)
    assert [it.arch for it in entries] == ["8.0", "9.0a", "10.0f", "12.0+PTX"]
    assert [it.kind for it in entries] == ["sass", "sass", "sass", "ptx"]
    assert entries[0].data.startswith(b"\x7fELF")
    assert entries[3].compression == "zstd"


def test_kernels_cost_what_cuobjdump_says() -> None:
    kernels = {it.arch: read_cubin(it.data) for it in read_fat_entries(FATBIN) if it.kind == "sass"}
    assert kernels["9.0a"] == (
        CudaKernel(
            name="axpy",
            registers=10,
            stack_bytes=0,
            shared_bytes=1280,  # 256, and the first kilobyte, which the system keeps since sm_90
            constant_bytes=556,
            max_threads=64,
            code_bytes=640,
        ),
    )
    assert kernels["8.0"][0].shared_bytes == 256


@pytest.mark.parametrize(
    ("stored", "arch", "compression"),
    [
        pytest.param(entry(75), "7.5", "", id="two-digits"),
        pytest.param(entry(121), "12.1", "", id="three-digits"),
        pytest.param(entry(90, flags=FLAG_A), "9.0a", "", id="one-architecture"),
        pytest.param(entry(103, flags=FLAG_F), "10.3f", "", id="family"),
        pytest.param(entry(80, kind=1), "8.0+PTX", "", id="ptx"),
        pytest.param(entry(90, flags=LZ4, compressed=3), "9.0", "lz4", id="lz4"),
        pytest.param(entry(90, kind=1, flags=ZSTD | FLAG_A), "9.0a+PTX", "zstd", id="zstd"),
    ],
)
def test_entry_says_what_it_is_for(stored: bytes, arch: str, compression: str) -> None:
    (found,) = parse_section(fatbin(stored))
    assert (found.arch, found.compression) == (arch, compression)
    assert found.data in {b"cod", b"code\0\0\0\0"}


def test_cubins_of_cuda_12_say_themselves_that_they_are_for_one_architecture() -> None:
    cubin = bytearray(read_fat_entries(FATBIN)[0].data)
    cubin[8] = 7
    struct.pack_into("<I", cubin, 48, 0x800 | 90)
    (found,) = parse_section(fatbin(entry(90, data=bytes(cubin))))
    assert found.arch == "9.0a"


def test_sections_hold_several_fat_binaries_with_gaps() -> None:
    section = fatbin(entry(80)) + bytes(16) + fatbin(entry(90), entry(100)) + bytes(8)
    assert [it.arch for it in read_fat_entries(host(section))] == ["8.0", "9.0", "10.0"]


def test_libraries_without_the_section_hold_nothing() -> None:
    assert read_fat_entries(host(b"", b".text")) == ()
    assert read_fat_entries(host(fatbin(entry(80)), b"__nv_relfatbin"))[0].arch == "8.0"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(host(b"\1\2\3\4" * 8), "not a fat binary at 0x0: it starts", id="magic"),
        pytest.param(FATBIN[:200], "a fat binary is outside the file", id="short"),
        pytest.param(FATBIN[:8], "a fat binary's header is outside the file", id="header"),
        pytest.param(
            fatbin(entry(80).replace(b"\x40\0\0\0", b"\x04\0\0\0", 1)), "header of 4", id="entry"
        ),
        pytest.param(
            fatbin(entry(80)[:64]), "the code of a fat binary's entry is outside", id="payload"
        ),
        pytest.param(b"text", "not an ELF file", id="text"),
    ],
)
def test_damage_is_one_clear_error(data: bytes, problem: str) -> None:
    with pytest.raises(BinaryError, match=problem):
        read_fat_entries(data, where="k.so")


def test_cubin_reader_refuses_host_code() -> None:
    with pytest.raises(BinaryError, match="not CUDA machine code: ELF machine 62"):
        read_cubin(host(b""))


def test_kernels_without_numbers_say_so() -> None:
    (kernel,) = read_cubin(cuda(host(bytes(380), b".nv.constant0.axpy")))
    assert (kernel.name, kernel.registers, kernel.max_threads) == ("axpy", None, None)
    assert kernel.constant_bytes == 380


def cuda(data: bytes) -> bytes:
    return data[:18] + struct.pack("<H", 190) + data[20:]


def test_arch_is_what_metadata_writes() -> None:
    held = FatEntry(kind="ptx", capability=(12, 1), suffix="", compression="", data=b"")
    assert held.arch == "12.1+PTX"
