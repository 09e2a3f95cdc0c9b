"""Vector integer instructions give in each lane what Python's integers give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from tests.unit.emulator.bench import LANES, Bench

if TYPE_CHECKING:
    from collections.abc import Callable

M32: Final = 2**32 - 1
SPECIAL: Final = (0, 1, 2, 31, 32, 33, 0x7FFF_FFFF, 0x8000_0000, M32, 0xFF00_FF00, 0x0001_8000)


def noise(
    count: int, dtype: str = "u4"
) -> list[np.ndarray[tuple[int, ...], np.dtype[np.unsignedinteger]]]:
    """Return operands for 128 lanes: extreme values in the first, random ones in the rest."""
    random = np.random.default_rng(7)
    width = np.dtype(dtype).itemsize * 8
    found = []
    for place in range(count):
        values = random.integers(0, 2**width, (2, LANES), dtype=dtype)
        narrow = values >> random.integers(0, width, (2, LANES)).astype(dtype)
        special = np.array([value % 2**width for value in SPECIAL], dtype)
        mixed = np.where(random.random((2, LANES)) < 0.3, narrow, values)
        spread = special[(np.arange(LANES) // len(special) ** place) % len(special)]
        mixed[0] = np.where(np.arange(LANES) < 40, spread, mixed[0])
        found.append(mixed)
    return found


def s32(value: int) -> int:
    return value - 2**32 if value >> 31 else value


def s24(value: int) -> int:
    low = value & 0xFF_FFFF
    return low - 2**24 if low >> 23 else low


def s16(value: int) -> int:
    low = value & 0xFFFF
    return low - 2**16 if low >> 15 else low


def octets(value: int) -> list[int]:
    return list(value.to_bytes(4, "little"))


def sad(a: int, b: int) -> int:
    return sum(abs(x - y) for x, y in zip(octets(a), octets(b), strict=True))


def perm(high: int, low: int, selector: int) -> int:
    data = low.to_bytes(4, "little") + high.to_bytes(4, "little")
    result = []
    for choice in octets(selector):
        if choice < 8:
            result.append(data[choice])
        elif choice < 12:
            result.append(0xFF * (data[2 * (choice - 8) + 1] >> 7))
        else:
            result.append(0 if choice == 12 else 0xFF)
    return int.from_bytes(bytes(result), "little")


def bfe_signed(a: int, offset: int, width: int) -> int:
    offset, width = offset & 31, width & 31
    if not width:
        return 0
    found = s32(a) >> offset & ((1 << width) - 1)
    top = min(width, 32 - offset)
    kept = a >> offset & ((1 << top) - 1)
    return kept - (1 << top) if kept >> (top - 1) & 1 else found & ((1 << top) - 1)


def clamp(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def clz(value: int) -> int:
    return 32 - value.bit_length() if value else M32


WORDS: Final[dict[str, tuple[int, Callable[..., int]]]] = {
    "v_add_u32_e32": (2, lambda a, b: a + b),
    "v_sub_u32_e32": (2, lambda a, b: a - b),
    "v_subrev_u32_e32": (2, lambda a, b: b - a),
    "v_add_i32": (2, lambda a, b: a + b),
    "v_mul_lo_u32": (2, lambda a, b: a * b),
    "v_mul_hi_u32": (2, lambda a, b: a * b >> 32),
    "v_mul_hi_i32": (2, lambda a, b: s32(a) * s32(b) >> 32),
    "v_mul_u32_u24_e32": (2, lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "v_mul_i32_i24_e32": (2, lambda a, b: s24(a) * s24(b)),
    "v_mul_hi_u32_u24_e32": (2, lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32),
    "v_mul_hi_i32_i24_e32": (2, lambda a, b: s24(a) * s24(b) >> 32),
    "v_mad_u32_u24": (3, lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    "v_mad_i32_i24": (3, lambda a, b, c: s24(a) * s24(b) + c),
    "v_mad_u32_u16": (3, lambda a, b, c: (a & 0xFFFF) * (b & 0xFFFF) + c),
    "v_mad_i32_i16": (3, lambda a, b, c: s16(a) * s16(b) + c),
    "v_min_i32_e32": (2, lambda a, b: min(s32(a), s32(b))),
    "v_max_i32_e32": (2, lambda a, b: max(s32(a), s32(b))),
    "v_min_u32_e32": (2, min),
    "v_max_u32_e32": (2, max),
    "v_min3_u32": (3, min),
    "v_max3_i32": (3, lambda a, b, c: max(map(s32, (a, b, c)))),
    "v_med3_i32": (3, lambda a, b, c: sorted(map(s32, (a, b, c)))[1]),
    "v_med3_u32": (3, lambda a, b, c: sorted((a, b, c))[1]),
    "v_lshlrev_b32_e32": (2, lambda a, b: b << (a & 31)),
    "v_lshrrev_b32_e32": (2, lambda a, b: b >> (a & 31)),
    "v_ashrrev_i32_e32": (2, lambda a, b: s32(b) >> (a & 31)),
    "v_and_b32_e32": (2, lambda a, b: a & b),
    "v_or_b32_e32": (2, lambda a, b: a | b),
    "v_xor_b32_e32": (2, lambda a, b: a ^ b),
    "v_xnor_b32_e32": (2, lambda a, b: ~(a ^ b)),
    "v_not_b32_e32": (1, lambda a: ~a),
    "v_or3_b32": (3, lambda a, b, c: a | b | c),
    "v_and_or_b32": (3, lambda a, b, c: a & b | c),
    "v_xad_u32": (3, lambda a, b, c: (a ^ b) + c),
    "v_add3_u32": (3, lambda a, b, c: a + b + c),
    "v_lshl_add_u32": (3, lambda a, b, c: (a << (b & 31)) + c),
    "v_add_lshl_u32": (3, lambda a, b, c: (a + b) << (c & 31)),
    "v_lshl_or_b32": (3, lambda a, b, c: a << (b & 31) | c),
    "v_bfi_b32": (3, lambda a, b, c: a & b | ~a & c),
    "v_bfe_u32": (3, lambda a, b, c: a >> (b & 31) & ((1 << (c & 31)) - 1)),
    "v_bfe_i32": (3, bfe_signed),
    "v_bfm_b32": (2, lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)),
    "v_bfrev_b32_e32": (1, lambda a: int(f"{a:032b}"[::-1], 2)),
    "v_ffbh_u32_e32": (1, clz),
    "v_ffbl_b32_e32": (1, lambda a: (a & -a).bit_length() - 1 if a else M32),
    "v_ffbh_i32_e32": (1, lambda a: clz(a ^ M32 if a >> 31 else a)),
    "v_bcnt_u32_b32": (2, lambda a, b: a.bit_count() + b),
    "v_alignbit_b32": (3, lambda a, b, c: (a << 32 | b) >> (c & 31)),
    "v_alignbyte_b32": (3, lambda a, b, c: (a << 32 | b) >> 8 * (c & 3)),
    "v_perm_b32": (3, perm),
    "v_sad_u8": (3, lambda a, b, c: sad(a, b) + c),
    "v_sad_hi_u8": (3, lambda a, b, c: (sad(a, b) << 16) + c),
    "v_sad_u16": (3, lambda a, b, c: abs((a & 0xFFFF) - (b & 0xFFFF))
                  + abs((a >> 16) - (b >> 16)) + c),
    "v_sad_u32": (3, lambda a, b, c: abs(a - b) + c),
    "v_msad_u8": (3, lambda a, b, c: sum(
        abs(x - y) for x, y in zip(octets(a), octets(b), strict=True) if y) + c),
    "v_lerp_u8": (3, lambda a, b, c: int.from_bytes(bytes(
        (x + y + (z & 1)) >> 1
        for x, y, z in zip(octets(a), octets(b), octets(c), strict=True)), "little")),
    "v_pack_b32_f16": (2, lambda a, b: a & 0xFFFF | b << 16),
    "v_cvt_pk_u16_u32": (2, lambda a, b: min(a, 0xFFFF) | min(b, 0xFFFF) << 16),
    "v_cvt_pk_i16_i32": (2, lambda a, b: clamp(s32(a), -2**15, 2**15 - 1) & 0xFFFF
                         | clamp(s32(b), -2**15, 2**15 - 1) << 16),
    "v_sat_pk_u8_i16_e32": (1, lambda a: clamp(s16(a), 0, 255) | clamp(s16(a >> 16), 0, 255) << 8),
    "v_dot4_i32_i8": (3, lambda a, b, c: sum(
        (x - 256 * (x >> 7)) * (y - 256 * (y >> 7))
        for x, y in zip(octets(a), octets(b), strict=True)) + c),
    "v_dot4_u32_u8": (3, lambda a, b, c: sum(
        x * y for x, y in zip(octets(a), octets(b), strict=True)) + c),
    "v_dot2_i32_i16": (3, lambda a, b, c: s16(a) * s16(b) + s16(a >> 16) * s16(b >> 16) + c),
    "v_dot2_u32_u16": (3, lambda a, b, c: (a & 0xFFFF) * (b & 0xFFFF) + (a >> 16) * (b >> 16) + c),
    "v_dot8_u32_u4": (3, lambda a, b, c: sum(
        (a >> i & 15) * (b >> i & 15) for i in range(0, 32, 4)) + c),
    "v_dot8_i32_i4": (3, lambda a, b, c: sum(
        (((a >> i & 15) ^ 8) - 8) * (((b >> i & 15) ^ 8) - 8) for i in range(0, 32, 4)) + c),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_words_give_a_word_in_each_lane(name: str) -> None:
    count, compute = WORDS[name]
    operands, bench = noise(count), Bench()
    for place, values in enumerate(operands):
        bench.put(10 + place, values)
    bench.run(f"{name} v3, " + ", ".join(f"v{10 + place}" for place in range(count)))
    expected = [
        compute(*map(int, values)) & M32 for values in zip(*(x.flat for x in operands), strict=True)
    ]
    np.testing.assert_array_equal(bench.get(3, "u4").reshape(-1), np.array(expected, np.uint32))


PAIRS: Final[dict[str, tuple[str, Callable[..., int]]]] = {
    "v_lshlrev_b64": ("48", lambda a, b: b << (a & 63)),
    "v_lshrrev_b64": ("48", lambda a, b: b >> (a & 63)),
    "v_ashrrev_i64": ("48", lambda a, b: (b - 2**64 if b >> 63 else b) >> (a & 63)),
    "v_lshl_add_u64": ("848", lambda a, b, c: (a << (b & 7)) + c),
    "v_mov_b64_e32": ("8", lambda a: a),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_registers_hold_64_bits(name: str) -> None:
    sizes, compute = PAIRS[name]
    bench, operands, texts = Bench(), [], []
    for place, size in enumerate(sizes):
        values = noise(3, f"u{size}")[place]
        index = 10 + 4 * place
        bench.put(index, values)
        operands.append(values)
        texts.append(f"v[{index}:{index + 1}]" if size == "8" else f"v{index}")
    bench.run(f"{name} v[4:5], " + ", ".join(texts))
    expected = [
        compute(*map(int, values)) % 2**64
        for values in zip(*(x.flat for x in operands), strict=True)
    ]
    np.testing.assert_array_equal(bench.get(4, "u8").reshape(-1), np.array(expected, np.uint64))


HALVES: Final[dict[str, tuple[int, Callable[..., int], bool]]] = {
    "v_add_u16_e32": (2, lambda a, b: a + b, False),
    "v_sub_u16_e32": (2, lambda a, b: a - b, False),
    "v_mul_lo_u16_e32": (2, lambda a, b: a * b, False),
    "v_lshlrev_b16_e32": (2, lambda a, b: b << (a & 15), False),
    "v_lshrrev_b16_e32": (2, lambda a, b: b >> (a & 15), False),
    "v_ashrrev_i16_e32": (2, lambda a, b: s16(b) >> (a & 15), False),
    "v_min_i16_e32": (2, lambda a, b: min(s16(a), s16(b)), False),
    "v_max_u16_e32": (2, max, False),
    "v_mad_u16": (3, lambda a, b, c: a * b + c, True),
    "v_med3_i16": (3, lambda a, b, c: sorted(map(s16, (a, b, c)))[1], True),
}


@pytest.mark.parametrize("name", HALVES)
def test_halves_clear_or_keep_the_other_half_as_the_instruction_does(name: str) -> None:
    count, compute, keeps = HALVES[name]
    operands, bench = noise(count), Bench()
    for place, values in enumerate(operands):
        bench.put(10 + place, values)
    before = bench.get(3, "u4").copy().reshape(-1)
    bench.run(f"{name} v3, " + ", ".join(f"v{10 + place}" for place in range(count)))
    low = [
        compute(*(int(value) & 0xFFFF for value in values)) & 0xFFFF
        for values in zip(*(x.flat for x in operands), strict=True)
    ]
    high = before & np.uint32(0xFFFF_0000) if keeps else np.uint32(0)
    np.testing.assert_array_equal(bench.get(3, "u4").reshape(-1), np.array(low, np.uint32) | high)


def test_halves_are_chosen_when_op_sel_says_so() -> None:
    bench, (a, b) = Bench(), noise(2)
    bench.put(10, a)
    bench.put(11, b)
    before = bench.get(3, "u4").copy()
    bench.run("v_add_u16_e64 v3, v10, v11 op_sel:[1,0,1]")
    total = ((a >> 16) + (b & 0xFFFF)) & 0xFFFF
    np.testing.assert_array_equal(bench.get(3, "u4"), total << 16 | before & 0xFFFF)


PACKED: Final[dict[str, Callable[[int, int], int]]] = {
    "v_pk_add_u16": lambda a, b: a + b,
    "v_pk_sub_i16": lambda a, b: a - b,
    "v_pk_mul_lo_u16": lambda a, b: a * b,
    "v_pk_min_i16": lambda a, b: min(s16(a), s16(b)),
    "v_pk_max_u16": max,
    "v_pk_lshlrev_b16": lambda a, b: b << (a & 15),
    "v_pk_ashrrev_i16": lambda a, b: s16(b) >> (a & 15),
}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize(
    ("modifiers", "halves"),
    [
        ("", (0, 0, 1, 1)),
        (" op_sel:[1,0] op_sel_hi:[0,1]", (1, 0, 0, 1)),
        (" op_sel_hi:[0,0]", (0, 0, 0, 0)),
    ],
)
def test_both_halves_are_computed_when_an_instruction_is_packed(
    name: str, modifiers: str, halves: tuple[int, int, int, int]
) -> None:
    bench, (a, b) = Bench(), noise(2)
    bench.put(10, a)
    bench.put(11, b)
    bench.run(f"{name} v3, v10, v11{modifiers}")
    compute = PACKED[name]
    expected = []
    for x, y in zip(map(int, a.flat), map(int, b.flat), strict=True):
        parts = [
            compute(x >> 16 * one & 0xFFFF, y >> 16 * other & 0xFFFF) & 0xFFFF
            for one, other in (halves[:2], halves[2:])
        ]
        expected.append(parts[0] | parts[1] << 16)
    np.testing.assert_array_equal(bench.get(3, "u4").reshape(-1), np.array(expected, np.uint32))


@pytest.mark.parametrize(
    ("text", "a", "b", "expected"),
    [
        ("v_add_u32_e64 v3, v10, v11 clamp", 0xFFFF_FFF0, 0x20, M32),
        ("v_sub_u32_e64 v3, v10, v11 clamp", 1, 2, 0),
        ("v_add_i32 v3, v10, v11 clamp", 0x7FFF_FFFF, 1, 0x7FFF_FFFF),
        ("v_sub_i32 v3, v10, v11 clamp", 0x8000_0000, 1, 0x8000_0000),
        ("v_pk_add_i16 v3, v10, v11 clamp", 0x7FFF_8000, 0x0001_FFFF, 0x7FFF_8000),
        ("v_add_u16_e64 v3, v10, v11 clamp", 0xFFFF, 5, 0xFFFF),
        ("v_dot4_i32_i8 v3, v10, v10, v11 clamp", 0x7F7F_7F7F, 0x7FFF_FFFF, 0x7FFF_FFFF),
    ],
)
def test_a_result_stays_in_its_type_when_it_is_clamped(
    text: str, a: int, b: int, expected: int
) -> None:
    bench = Bench()
    bench.put(10, np.uint32(a))
    bench.put(11, np.uint32(b))
    bench.run(text)
    assert (bench.get(3, "u4") == expected).all()


def test_carries_go_through_masks_when_words_are_added_in_turn() -> None:
    bench, (a, b) = Bench(), noise(2, "u8")
    bench.put(10, a)
    bench.put(12, b)
    bench.run("v_add_co_u32_e32 v4, vcc, v10, v12")
    bench.run("v_addc_co_u32_e32 v5, vcc, v11, v13, vcc")
    np.testing.assert_array_equal(bench.get(4, "u8"), a + b)
    bench.run("v_sub_co_u32_e64 v4, s[10:11], v10, v12")
    bench.run("v_subb_co_u32_e64 v5, s[12:13], v11, v13, s[10:11]")
    np.testing.assert_array_equal(bench.get(4, "u8"), a - b)
    bench.run("v_subrev_co_u32_e32 v4, vcc, v10, v12")
    bench.run("v_subbrev_co_u32_e32 v5, vcc, v11, v13, vcc")
    np.testing.assert_array_equal(bench.get(4, "u8"), b - a)
    borrow = sum(1 << lane for lane in range(64) if b[0, lane] < a[0, lane])
    assert bench.get_scalar(106, words=2) == borrow


@pytest.mark.parametrize("signed", [False, True])
def test_wide_multiply_add_gives_64_bits(signed: bool) -> None:
    bench, (a, b) = Bench(), noise(2)
    (c,) = noise(1, "u8")
    for index, values in ((10, a), (11, b), (12, c)):
        bench.put(index, values)
    name = "v_mad_i64_i32" if signed else "v_mad_u64_u32"
    bench.run(f"{name} v[4:5], s[10:11], v10, v11, v[12:13]")
    expected = []
    for x, y, z in zip(map(int, a.flat), map(int, b.flat), map(int, c.flat), strict=True):
        expected.append(((s32(x) * s32(y) if signed else x * y) + z) % 2**64)
    np.testing.assert_array_equal(bench.get(4, "u8").reshape(-1), np.array(expected, np.uint64))


def test_select_takes_the_second_source_where_the_mask_is_set() -> None:
    bench, (a, b), mask = Bench(), noise(2), 0x0123_4567_89AB_CDEF
    bench.put(10, a)
    bench.put(11, b)
    bench.put_scalar(20, mask, words=2)
    bench.run("v_cndmask_b32_e64 v3, v10, v11, s[20:21]")
    chosen = np.array([mask >> lane & 1 for lane in range(64)], np.bool_)
    np.testing.assert_array_equal(bench.get(3, "u4"), np.where(chosen, b, a))


def test_inactive_lanes_keep_their_value_when_exec_is_partial() -> None:
    bench, (a, b), mask = Bench(), noise(2), 0xF0F0_0000_FFFF_0001
    bench.put(10, a)
    bench.put(11, b)
    before = bench.get(3, "u4").copy()
    bench.set_exec(mask)
    bench.run("v_add_u32_e32 v3, v10, v11")
    active = np.array([mask >> lane & 1 for lane in range(64)], np.bool_)
    np.testing.assert_array_equal(bench.get(3, "u4"), np.where(active, a + b, before))


def test_other_waves_are_left_alone_when_only_some_rows_run() -> None:
    bench, (a, b) = Bench(), noise(2)
    bench.put(10, a)
    bench.put(11, b)
    before = bench.get(3, "u4").copy()
    bench.run("v_add_u32_e32 v3, v10, v11", rows=[1])
    np.testing.assert_array_equal(bench.get(3, "u4"), np.stack([before[0], (a + b)[1]]))
