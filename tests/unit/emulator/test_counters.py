"""Counters follow the models that they state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.unit.emulator.bench import Bench

from kernelmill.binary.disassembly import Instruction
from kernelmill.emulator.counters import count_lines, lds_cycles
from kernelmill.emulator.flops import flops_of
from kernelmill.emulator.observer import Access, Site, Touch
from kernelmill.emulator.program import decode
from kernelmill.emulator.registers import Waves

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array

LANE = np.arange(64, dtype=np.int64)[None]
ALL = np.ones((1, 64), np.bool_)


def site(width_bytes: int, access: Access = "read") -> Site:
    instruction = Instruction(address=0, size_bytes=8, mnemonic="ds_read_b32", operands="v0, v1")
    return Site(decoded=decode(instruction), access=access, width_bytes=width_bytes)


@pytest.mark.parametrize(
    ("addresses", "width", "lines"),
    [
        pytest.param(LANE * 4, 4, 2, id="neighbours"),
        pytest.param(LANE * 4 + 64, 4, 3, id="shifted"),
        pytest.param(LANE * 128, 4, 64, id="one-line-each"),
        pytest.param(LANE * 0, 4, 1, id="one-address"),
        pytest.param(LANE * 16, 16, 8, id="wide"),
        pytest.param(LANE * 256 + 126, 4, 128, id="across-lines"),
    ],
)
def test_lines_are_counted_once_for_each_wave(addresses: Array, width: int, lines: int) -> None:
    waves = Waves(Bench().batch, np.array([0]))
    touch = Touch(waves=waves, site=site(width), addresses=addresses, lanes=ALL)
    assert count_lines(touch) == lines


@pytest.mark.parametrize(
    ("place", "width", "cycles", "conflicts"),
    [
        pytest.param(LANE * 4, 4, 2, 0, id="neighbours"),
        pytest.param(LANE * 0, 4, 2, 0, id="broadcast"),
        pytest.param(LANE * 8, 4, 4, 2, id="every-second-bank"),
        pytest.param(LANE * 128, 4, 64, 62, id="one-bank"),
        pytest.param(LANE * 132, 4, 2, 0, id="padded-rows"),
        pytest.param(LANE * 8, 8, 4, 0, id="pairs"),
        pytest.param(LANE * 16, 16, 8, 0, id="quads"),
        pytest.param(LANE * 128, 16, 64, 56, id="quads-in-one-place"),
    ],
)
def test_bank_conflicts_cost_cycles(place: Array, width: int, cycles: int, conflicts: int) -> None:
    total, ideal = lds_cycles(place, ALL, site(width, "write"))
    assert (total, total - ideal) == (cycles, conflicts)


def test_reads_of_16_bytes_have_their_own_phases() -> None:
    place = np.where((LANE // 4 == 0) | (LANE // 4 == 5), 0, 16 * LANE)
    write, _ = lds_cycles(place, ALL, site(16, "write"))
    read, _ = lds_cycles(place, ALL, site(16, "read"))
    assert write != read or write == 8
    straight, _ = lds_cycles(LANE * 16, ALL, site(16, "read"))
    assert straight == 8


def test_inactive_lanes_cost_nothing() -> None:
    lanes = LANE < 32
    assert lds_cycles(LANE * 4, lanes, site(4)) == (1, 1)


@pytest.mark.parametrize(
    ("name", "flops"),
    [("v_add_f32", 64), ("v_fma_f64", 128), ("v_pk_fma_f32", 256), ("v_add_u32", 0), ("s_nop", 0),
     ("v_mfma_i32_16x16x32_i8", 0)],
)  # fmt: skip
def test_operations_are_counted_with_all_lanes(name: str, flops: int) -> None:
    assert flops_of(name) == flops
