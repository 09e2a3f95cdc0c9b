"""Damaged files give ``BinaryError`` or a reading, and never anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.binary.test_cuda_fatbin import FATBIN, host
from tests.unit.binary.test_macho import image

from kernelmill.binary import bundle, elf, macho
from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.cubin import read_cubin
from kernelmill.binary.cuda_fatbin import read_fat_entries
from kernelmill.binary.errors import BinaryError
from kernelmill.binary.symbols import read_linkage

if TYPE_CHECKING:
    from tests.unit.binary.conftest import LibraryWriter

relaxed = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
FLIPS = st.lists(st.tuples(st.integers(0, 2**32), st.integers(1, 255)), min_size=1, max_size=6)


def flipped(data: bytes, flips: list[tuple[int, int]]) -> bytes:
    changed = bytearray(data)
    for position, mask in flips:
        changed[position % len(changed)] ^= mask
    return bytes(changed)


def read_everything(data: bytes) -> None:
    try:
        for found in read_code_objects(data):
            for kernel in found.kernels:
                found.code(kernel)
        if elf.is_elf(data):
            read_linkage(elf.parse(data))
    except BinaryError as error:
        assert error.problem  # noqa: PT017 - any outcome but another exception is right


@relaxed
@given(flips=FLIPS)
def test_code_object_reading_survives_when_bits_are_flipped(
    code_object: bytes, flips: list[tuple[int, int]]
) -> None:
    read_everything(flipped(code_object, flips))


@relaxed
@given(flips=FLIPS)
def test_bundle_reading_survives_when_bits_are_flipped(
    code_object: bytes, flips: list[tuple[int, int]]
) -> None:
    entry = bundle.Entry(id=bundle.device_id("gfx942"), data=code_object)
    read_everything(flipped(bundle.build([entry], alignment=8), flips))


@relaxed
@given(flips=FLIPS, has_gnu_hash=st.booleans())
def test_linkage_reading_survives_when_bits_are_flipped(
    write_library: LibraryWriter, flips: list[tuple[int, int]], has_gnu_hash: bool
) -> None:
    data = write_library(
        needed=("libc.so.6",),
        wants=(("memcpy", "GLIBC_2.14", "libc.so.6"), ("f", "", "")),
        offers=("launch",),
        has_gnu_hash=has_gnu_hash,
    )
    read_everything(flipped(data, flips))


@relaxed
@given(kept=st.floats(0, 0.999))
def test_code_object_reading_refuses_when_file_is_cut(code_object: bytes, kept: float) -> None:
    # The section headers' strings are the last bytes, so no cut goes unnoticed.
    with pytest.raises(BinaryError):
        read_code_objects(code_object[: int(len(code_object) * kept)])


@relaxed
@given(flips=FLIPS, length=st.integers(0, len(FATBIN)))
def test_fat_binary_reading_survives_damage(flips: list[tuple[int, int]], length: int) -> None:
    for data in (flipped(FATBIN, flips), FATBIN[:length], host(flipped(FATBIN, flips))):
        try:
            for entry in read_fat_entries(data):
                if entry.kind == "sass" and not entry.compression:
                    read_cubin(entry.data)
        except BinaryError as error:
            assert error.problem  # noqa: PT017 - as above


@relaxed
@given(flips=FLIPS)
def test_macho_reading_survives_damage(flips: list[tuple[int, int]]) -> None:
    data = image(minos=0x000E0000, undefined=("PyList_New", "malloc"))
    try:
        macho.parse(flipped(data, flips))
    except BinaryError as error:
        assert error.problem  # noqa: PT017 - as above
