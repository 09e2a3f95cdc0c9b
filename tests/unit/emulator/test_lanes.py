"""Values move between lanes as DPP, SDWA, permutes and lane instructions say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest
from tests.unit.emulator.bench import LANES, Bench

Source = Callable[[int], int | None]


def in_row(lane: int, place: int) -> int | None:
    return lane // 16 * 16 + place if 0 <= place < 16 else None


def in_wave(place: int) -> int | None:
    return place if 0 <= place < 64 else None


DPP: Final[dict[str, Source]] = {
    "quad_perm:[3,0,2,1]": lambda lane: lane // 4 * 4 + (3, 0, 2, 1)[lane % 4],
    "row_shl:3": lambda lane: in_row(lane, lane % 16 + 3),
    "row_shr:2": lambda lane: in_row(lane, lane % 16 - 2),
    "row_ror:5": lambda lane: lane // 16 * 16 + (lane % 16 - 5) % 16,
    "row_mirror": lambda lane: lane // 16 * 16 + 15 - lane % 16,
    "row_half_mirror": lambda lane: lane // 8 * 8 + 7 - lane % 8,
    "row_newbcast:6": lambda lane: lane // 16 * 16 + 6,
    "row_bcast:15": lambda lane: lane // 16 * 16 - 1 if lane >= 16 else None,
    "row_bcast:31": lambda lane: 31 if lane >= 32 else None,
    "wave_shl:1": lambda lane: in_wave(lane + 1),
    "wave_shr:1": lambda lane: in_wave(lane - 1),
    "wave_rol:1": lambda lane: (lane + 1) % 64,
    "wave_ror:1": lambda lane: (lane - 1) % 64,
}


@pytest.mark.parametrize("control", DPP)
@pytest.mark.parametrize("fills", [False, True])
@pytest.mark.parametrize("active", [2**64 - 1, 0xF0F0_1234_FFFF_00F0])
def test_dpp_reads_another_lane(control: str, fills: bool, active: int) -> None:
    bench = Bench()
    values = np.random.default_rng(1).integers(0, 2**32, (2, LANES), dtype=np.uint32)
    bench.put(10, values)
    before = bench.get(3, "u4").copy()
    bench.set_exec(active)
    suffix = " bound_ctrl:0" if fills else ""
    bench.run(f"v_mov_b32_dpp v3, v10 {control} row_mask:0xf bank_mask:0xf{suffix}")
    found = bench.get(3, "u4")
    for lane in range(64):
        source = DPP[control](lane)
        is_usable = source is not None and active >> source & 1
        if not active >> lane & 1 or (not is_usable and not fills):
            assert (found[:, lane] == before[:, lane]).all(), lane
        else:
            expected = values[:, source] if is_usable and source is not None else 0
            assert (found[:, lane] == expected).all(), lane


def test_dpp_writes_only_the_rows_and_banks_of_its_masks() -> None:
    bench = Bench()
    bench.put(10, np.arange(LANES, dtype=np.uint32))
    bench.put(11, np.uint32(1000))
    before = bench.get(3, "u4").copy()
    bench.run("v_add_u32_dpp v3, v10, v11 quad_perm:[0,1,2,3] row_mask:0x5 bank_mask:0xc")
    lane = np.arange(LANES)
    written = (lane // 16 % 2 == 0) & (lane % 16 >= 8)
    np.testing.assert_array_equal(bench.get(3, "u4"), np.where(written, lane + 1000, before))


PARTS: Final = {
    "BYTE_0": (0, 0xFF), "BYTE_1": (8, 0xFF), "BYTE_2": (16, 0xFF), "BYTE_3": (24, 0xFF),
    "WORD_0": (0, 0xFFFF), "WORD_1": (16, 0xFFFF), "DWORD": (0, 0xFFFF_FFFF),
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("extends", [False, True])
def test_sdwa_reads_a_part_of_a_source(part: str, extends: bool) -> None:
    bench, words = Bench(), np.random.default_rng(2).integers(0, 2**32, (2, LANES), dtype=np.uint32)
    bench.put(10, words)
    bench.put(11, np.uint32(5))
    source = "sext(v10)" if extends else "v10"
    bench.run(
        f"v_add_u32_sdwa v3, {source}, v11 dst_sel:DWORD dst_unused:UNUSED_PAD"
        f" src0_sel:{part} src1_sel:DWORD"
    )
    shift, mask = PARTS[part]
    expected = []
    for word in map(int, words.flat):
        value = word >> shift & mask
        sign = (mask + 1) >> 1
        expected.append(((value ^ sign) - sign if extends else value) + 5 & 0xFFFF_FFFF)
    np.testing.assert_array_equal(bench.get(3, "u4").reshape(-1), np.array(expected, np.uint32))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("unused", ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"])
def test_sdwa_writes_a_part_of_the_destination(part: str, unused: str) -> None:
    bench, words = Bench(), np.random.default_rng(3).integers(0, 2**32, (2, LANES), dtype=np.uint32)
    bench.put(10, words)
    before = bench.get(3, "u4").copy().reshape(-1)
    bench.run(f"v_mov_b32_sdwa v3, v10 dst_sel:{part} dst_unused:{unused} src0_sel:DWORD")
    shift, mask = PARTS[part]
    expected = []
    for word, old in zip(map(int, words.flat), map(int, before), strict=True):
        field = (word & mask) << shift
        if unused == "UNUSED_PRESERVE":
            field |= old & ~(mask << shift)
        elif unused == "UNUSED_SEXT" and word & mask & (mask + 1) >> 1:
            field |= ~((mask << shift) | ((1 << shift) - 1))
        expected.append(field & 0xFFFF_FFFF)
    np.testing.assert_array_equal(bench.get(3, "u4").reshape(-1), np.array(expected, np.uint32))


def test_one_lane_is_read_and_written() -> None:
    bench = Bench()
    values = np.arange(2 * LANES, dtype=np.uint32).reshape(2, LANES)
    bench.put(10, values)
    bench.run("v_readlane_b32 s20, v10, 17")
    assert bench.get_scalar(20) == 17
    bench.set_exec(0xFF00)
    bench.run("v_readfirstlane_b32 s20, v10")
    assert bench.get_scalar(20) == 8
    bench.put_scalar(21, 0xABCD)
    bench.run("v_writelane_b32 v10, s21, 3")
    values[:, 3] = 0xABCD
    np.testing.assert_array_equal(bench.get(10, "u4"), values)


def test_lane_numbers_come_from_counting_lower_lanes() -> None:
    bench = Bench()
    bench.run("v_mbcnt_lo_u32_b32 v3, -1, 0")
    bench.run("v_mbcnt_hi_u32_b32 v3, -1, v3")
    np.testing.assert_array_equal(bench.get(3, "u4")[0], np.arange(LANES))


def test_registers_change_places_when_they_are_swapped() -> None:
    bench = Bench()
    a, b = bench.get(10, "u4").copy(), bench.get(11, "u4").copy()
    bench.run("v_swap_b32 v10, v11")
    np.testing.assert_array_equal(bench.get(10, "u4"), b)
    np.testing.assert_array_equal(bench.get(11, "u4"), a)


def test_values_go_to_accumulation_registers_and_back() -> None:
    bench = Bench()
    values = bench.get(10, "u4").copy()
    bench.run("v_accvgpr_write_b32 a3, v10")
    bench.run("v_accvgpr_read_b32 v20, a3")
    np.testing.assert_array_equal(bench.get(20, "u4"), values)
    np.testing.assert_array_equal(bench.get(96 + 3, "u4"), values)


def test_lanes_read_others_when_they_permute_backward() -> None:
    bench, random = Bench(), np.random.default_rng(4)
    source = random.integers(0, 64, (2, LANES)).astype(np.uint32)
    values = bench.get(11, "u4").copy()
    bench.put(10, source * 4)
    bench.set_exec(0x0FFF_FFFF_FFFF_FFFF)
    before = bench.get(3, "u4").copy()
    bench.run("ds_bpermute_b32 v3, v10, v11")
    active = np.arange(LANES) < 60
    alive = np.where(active, values, 0)
    expected = np.take_along_axis(alive, source.astype(np.int64), axis=1)
    np.testing.assert_array_equal(bench.get(3, "u4"), np.where(active, expected, before))


def test_lanes_send_to_others_when_they_permute() -> None:
    bench = Bench()
    values = bench.get(11, "u4").copy()
    target = (np.arange(LANES) * 7 + 3) % 64
    bench.put(10, (target * 4).astype(np.uint32))
    bench.run("ds_permute_b32 v3, v10, v11")
    np.testing.assert_array_equal(bench.get(3, "u4")[:, target], values)


@pytest.mark.parametrize(
    ("offset", "source"),
    [
        ("swizzle(QUAD_PERM,1,0,3,2)", lambda lane: lane // 4 * 4 + (1, 0, 3, 2)[lane % 4]),
        ("swizzle(SWAP,16)", lambda lane: lane ^ 16),
        ("swizzle(REVERSE,8)", lambda lane: lane ^ 7),
        ("swizzle(BROADCAST,32,5)", lambda lane: lane // 32 * 32 + 5),
        ('swizzle(BITMASK_PERM,"01pip")', lambda lane: lane // 32 * 32 + ((lane & 7) ^ 2 | 8)),
    ],
)
def test_lanes_are_swizzled(offset: str, source: Callable[[int], int]) -> None:
    bench = Bench()
    values = bench.get(10, "u4").copy()
    bench.run(f"ds_swizzle_b32 v3, v10 offset:{offset}")
    lanes = [source(lane) for lane in range(64)]
    np.testing.assert_array_equal(bench.get(3, "u4"), values[:, lanes])
