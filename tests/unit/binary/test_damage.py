"""Damaged files give ``BinaryError`` or a reading, and never anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelmill.binary import bundle, elf
from kernelmill.binary.code_object import read_code_objects
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
