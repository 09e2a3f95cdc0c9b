"""Scalar instructions give what Python's integers give."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.emulator.bench import Bench

WORD, PAIR = 2**32, 2**64
VALUES = (0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1234_5678, 0xFFFF_FFF0, 31, 0x10008)
WIDE = (0, 1, PAIR - 1, 1 << 63, (1 << 63) - 1, 0x1234_5678_9ABC_DEF0, 0xFFFF_FFFF, 1 << 32)


def signed(value: int, width: int = 32) -> int:
    return value - (1 << width) if value >> (width - 1) & 1 else value


def leading(value: int, width: int) -> int:
    return width - value.bit_length() if value else WORD - 1


def trailing(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else WORD - 1


def sign_run(value: int, width: int) -> int:
    folded = value ^ (2**width - 1) if signed(value, width) < 0 else value
    return leading(folded, width)


def field(a: int, b: int, width: int, *, is_signed: bool) -> int:
    offset, count = b % width, b >> 16 & 0x7F
    found = a >> offset & ((1 << count) - 1)
    top = min(count, width - offset)
    if is_signed and count and found >> (top - 1) & 1:
        found -= 1 << top
    return int(found % 2**width)


Two = Callable[[int, int], int]
TWO_WORDS: dict[str, tuple[Two, Callable[[int, int, int], bool] | None]] = {
    "s_add_u32": (lambda a, b: a + b, lambda a, b, _r: a + b >= WORD),
    "s_sub_u32": (lambda a, b: a - b, lambda a, b, _r: b > a),
    "s_add_i32": (lambda a, b: a + b, lambda a, b, r: signed(a) + signed(b) != signed(r)),
    "s_sub_i32": (lambda a, b: a - b, lambda a, b, r: signed(a) - signed(b) != signed(r)),
    "s_min_i32": (lambda a, b: min(signed(a), signed(b)), lambda a, b, _r: signed(a) < signed(b)),
    "s_max_i32": (lambda a, b: max(signed(a), signed(b)), lambda a, b, _r: signed(a) > signed(b)),
    "s_min_u32": (min, lambda a, b, _r: a < b),
    "s_max_u32": (max, lambda a, b, _r: a > b),
    "s_and_b32": (lambda a, b: a & b, lambda _a, _b, r: r != 0),
    "s_or_b32": (lambda a, b: a | b, lambda _a, _b, r: r != 0),
    "s_xor_b32": (lambda a, b: a ^ b, lambda _a, _b, r: r != 0),
    "s_andn2_b32": (lambda a, b: a & ~b, lambda _a, _b, r: r != 0),
    "s_orn2_b32": (lambda a, b: a | ~b, lambda _a, _b, r: r != 0),
    "s_nand_b32": (lambda a, b: ~(a & b), lambda _a, _b, r: r != 0),
    "s_nor_b32": (lambda a, b: ~(a | b), lambda _a, _b, r: r != 0),
    "s_xnor_b32": (lambda a, b: ~(a ^ b), lambda _a, _b, r: r != 0),
    "s_lshl_b32": (lambda a, b: a << (b & 31), lambda _a, _b, r: r != 0),
    "s_lshr_b32": (lambda a, b: a >> (b & 31), lambda _a, _b, r: r != 0),
    "s_ashr_i32": (lambda a, b: signed(a) >> (b & 31), lambda _a, _b, r: r != 0),
    "s_mul_i32": (lambda a, b: a * b, None),
    "s_mul_hi_u32": (lambda a, b: a * b >> 32, None),
    "s_mul_hi_i32": (lambda a, b: signed(a) * signed(b) >> 32, None),
    "s_bfm_b32": (lambda a, b: ((1 << (a & 31)) - 1) << (b & 31), None),
    "s_bfe_u32": (lambda a, b: field(a, b, 32, is_signed=False), lambda _a, _b, r: r != 0),
    "s_bfe_i32": (lambda a, b: field(a, b, 32, is_signed=True), lambda _a, _b, r: r != 0),
    "s_absdiff_i32": (lambda a, b: abs(signed((a - b) % WORD)), lambda _a, _b, r: r != 0),
    "s_lshl2_add_u32": (lambda a, b: (a << 2) + b, lambda a, b, _r: (a << 2) + b >= WORD),
    "s_pack_ll_b32_b16": (lambda a, b: a & 0xFFFF | b << 16, None),
    "s_pack_lh_b32_b16": (lambda a, b: a & 0xFFFF | b >> 16 << 16, None),
    "s_pack_hh_b32_b16": (lambda a, b: a >> 16 | b >> 16 << 16, None),
}


@pytest.mark.parametrize("name", TWO_WORDS)
def test_two_words_give_a_word_when_values_are_extreme(name: str) -> None:
    compute, condition = TWO_WORDS[name]
    bench = Bench()
    for a in VALUES:
        for b in VALUES:
            bench.put_scalar(4, a)
            bench.put_scalar(7, b)
            bench.run(f"{name} s9, s4, s7")
            result = compute(a, b) % WORD
            assert bench.get_scalar(9) == result, (hex(a), hex(b))
            if condition is not None:
                assert bench.scc == condition(a, b, result), (hex(a), hex(b))


TWO_PAIRS: dict[str, Two] = {
    "s_and_b64": lambda a, b: a & b,
    "s_or_b64": lambda a, b: a | b,
    "s_xor_b64": lambda a, b: a ^ b,
    "s_andn2_b64": lambda a, b: a & ~b,
    "s_orn2_b64": lambda a, b: a | ~b,
    "s_nand_b64": lambda a, b: ~(a & b),
    "s_nor_b64": lambda a, b: ~(a | b),
    "s_xnor_b64": lambda a, b: ~(a ^ b),
}


@pytest.mark.parametrize("name", TWO_PAIRS)
def test_logic_works_on_pairs_when_they_are_masks(name: str) -> None:
    bench = Bench()
    for a in WIDE:
        for b in WIDE:
            bench.put_scalar(4, a, words=2)
            bench.put_scalar(6, b, words=2)
            bench.run(f"{name} s[8:9], s[4:5], s[6:7]")
            result = TWO_PAIRS[name](a, b) % PAIR
            assert bench.get_scalar(8, words=2) == result
            assert bench.scc == (result != 0)


PAIR_AND_WORD: dict[str, Two] = {
    "s_lshl_b64": lambda a, b: a << (b & 63),
    "s_lshr_b64": lambda a, b: a >> (b & 63),
    "s_ashr_i64": lambda a, b: signed(a, 64) >> (b & 63),
    "s_bfe_u64": lambda a, b: field(a, b, 64, is_signed=False),
    "s_bfe_i64": lambda a, b: field(a, b, 64, is_signed=True),
}


@pytest.mark.parametrize("name", PAIR_AND_WORD)
def test_a_pair_is_shifted_when_the_amount_is_a_word(name: str) -> None:
    bench = Bench()
    for a in WIDE:
        for b in (0, 1, 31, 32, 63, 64, 5 << 16 | 3, 40 << 16 | 20, 64 << 16, 64 << 16 | 8):
            bench.put_scalar(4, a, words=2)
            bench.put_scalar(6, b)
            bench.run(f"{name} s[8:9], s[4:5], s6")
            assert bench.get_scalar(8, words=2) == PAIR_AND_WORD[name](a, b) % PAIR, (
                hex(a),
                hex(b),
            )


ONE: dict[str, tuple[int, int, Callable[[int], int]]] = {
    "s_mov_b32": (1, 1, lambda a: a),
    "s_not_b32": (1, 1, lambda a: ~a),
    "s_brev_b32": (1, 1, lambda a: int(f"{a:032b}"[::-1], 2)),
    "s_brev_b64": (2, 2, lambda a: int(f"{a:064b}"[::-1], 2)),
    "s_bcnt0_i32_b32": (1, 1, lambda a: 32 - a.bit_count()),
    "s_bcnt1_i32_b32": (1, 1, int.bit_count),
    "s_bcnt0_i32_b64": (1, 2, lambda a: 64 - a.bit_count()),
    "s_bcnt1_i32_b64": (1, 2, int.bit_count),
    "s_ff0_i32_b32": (1, 1, lambda a: trailing(~a % WORD)),
    "s_ff1_i32_b32": (1, 1, trailing),
    "s_ff0_i32_b64": (1, 2, lambda a: trailing(~a % PAIR)),
    "s_ff1_i32_b64": (1, 2, trailing),
    "s_flbit_i32_b32": (1, 1, lambda a: leading(a, 32)),
    "s_flbit_i32_b64": (1, 2, lambda a: leading(a, 64)),
    "s_flbit_i32": (1, 1, lambda a: sign_run(a, 32)),
    "s_flbit_i32_i64": (1, 2, lambda a: sign_run(a, 64)),
    "s_sext_i32_i8": (1, 1, lambda a: signed(a & 0xFF, 8)),
    "s_sext_i32_i16": (1, 1, lambda a: signed(a & 0xFFFF, 16)),
    "s_abs_i32": (1, 1, lambda a: abs(signed(a))),
    "s_mov_b64": (2, 2, lambda a: a),
    "s_not_b64": (2, 2, lambda a: ~a),
    "s_wqm_b32": (1, 1, lambda a: sum(15 << i for i in range(0, 32, 4) if a >> i & 15)),
    "s_wqm_b64": (2, 2, lambda a: sum(15 << i for i in range(0, 64, 4) if a >> i & 15)),
    "s_quadmask_b32": (1, 1, lambda a: sum(1 << i for i in range(8) if a >> 4 * i & 15)),
    "s_bitreplicate_b64_b32": (2, 1, lambda a: sum(3 << 2 * i for i in range(32) if a >> i & 1)),
}


@pytest.mark.parametrize("name", ONE)
def test_one_source_gives_a_result_when_values_are_extreme(name: str) -> None:
    results, sources, compute = ONE[name]
    bench = Bench()
    for a in WIDE if sources == 2 else VALUES:
        bench.put_scalar(4, a, words=sources)
        target = "s[8:9]" if results == 2 else "s8"
        bench.run(f"{name} {target}, {'s[4:5]' if sources == 2 else 's4'}")
        assert bench.get_scalar(8, words=results) == compute(a) % 2 ** (32 * results), hex(a)


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


@pytest.mark.parametrize("name", COMPARE)
@pytest.mark.parametrize("kind", ["i32", "u32"])
def test_comparison_sets_scc_when_signs_differ(name: str, kind: str) -> None:
    bench = Bench()
    for a in VALUES:
        for b in VALUES:
            bench.put_scalar(4, a)
            bench.put_scalar(5, b)
            bench.run(f"s_cmp_{name}_{kind} s4, s5")
            one, other = (signed(a), signed(b)) if kind == "i32" else (a, b)
            assert bench.scc == COMPARE[name](one, other)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("s_cmpk_eq_i32 s4, 0xffff", 0xFFFF_FFFF, True),
        ("s_cmpk_lt_i32 s4, 0xfff0", 0xFFFF_FF00, True),
        ("s_cmpk_eq_u32 s4, 0xffff", 0xFFFF, True),
        ("s_cmpk_gt_u32 s4, 0xfff0", 0xFFFF, True),
        ("s_bitcmp1_b32 s4, 5", 0x20, True),
        ("s_bitcmp0_b32 s4, 5", 0x20, False),
    ],
)
def test_comparison_with_a_constant_extends_it_as_its_type_does(
    text: str, value: int, expected: bool
) -> None:
    bench = Bench()
    bench.put_scalar(4, value)
    bench.run(text)
    assert bench.scc is expected


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("s_movk_i32 s4, 0x8000", 1, 0xFFFF_8000),
        ("s_addk_i32 s4, 0xffff", 5, 4),
        ("s_mulk_i32 s4, 0xfffe", 7, WORD - 14),
        ("s_bitset1_b32 s4, 7", 0, 0x80),
        ("s_bitset0_b32 s4, 7", 0xFF, 0x7F),
        ("s_mov_b32 s4, -16", 0, WORD - 16),
        ("s_mov_b32 s4, 1.0", 0, 0x3F80_0000),
        ("s_mov_b32 s4, 0.15915494", 0, 0x3E22_F983),
        ("s_mov_b32 s4, 0xdeadbeef", 0, 0xDEAD_BEEF),
    ],
)
def test_a_constant_is_used_as_it_is_printed(text: str, before: int, after: int) -> None:
    bench = Bench()
    bench.put_scalar(4, before)
    bench.run(text)
    assert bench.get_scalar(4) == after


def test_carry_is_taken_and_given_when_words_are_added_in_turn() -> None:
    bench = Bench()
    bench.put_scalar(4, 0xFFFF_FFFF_FFFF_FFFF, words=2)
    bench.put_scalar(6, 2, words=2)
    bench.run("s_add_u32 s8, s4, s6")
    bench.run("s_addc_u32 s9, s5, s7")
    assert bench.get_scalar(8, words=2) == 1
    assert bench.scc is True
    bench.run("s_sub_u32 s8, s6, s4")
    bench.run("s_subb_u32 s9, s7, s5")
    assert bench.get_scalar(8, words=2) == 3


def test_select_follows_scc_when_it_is_set_and_when_not() -> None:
    bench = Bench()
    for condition, expected in ((1, 11), (2, 22)):
        bench.run(f"s_cmp_eq_u32 {condition}, 1")
        bench.run("s_cselect_b32 s4, 11, 22")
        assert bench.get_scalar(4) == expected
        bench.run("s_cselect_b64 s[6:7], 11, 22")
        assert bench.get_scalar(6, words=2) == expected


@pytest.mark.parametrize(
    ("name", "compute"),
    [
        ("and", lambda s, e: s & e),
        ("or", lambda s, e: s | e),
        ("xor", lambda s, e: s ^ e),
        ("andn2", lambda s, e: s & ~e),
        ("orn2", lambda s, e: s | ~e),
        ("andn1", lambda s, e: ~s & e),
        ("nand", lambda s, e: ~(s & e)),
    ],
)
def test_saveexec_keeps_the_old_mask_when_it_sets_a_new_one(name: str, compute: Two) -> None:
    bench, source, old = Bench(), 0x0F0F_1234_5678_9ABC, 0xFF00_FF00_FF00_FF0F
    bench.put_scalar(4, source, words=2)
    bench.set_exec(old)
    bench.run(f"s_{name}_saveexec_b64 s[8:9], s[4:5]")
    assert bench.get_scalar(8, words=2) == old
    assert bench.get_scalar(126, words=2) == compute(source, old) % PAIR


def test_a_register_number_is_added_to_when_moves_are_relative() -> None:
    bench = Bench()
    bench.put_scalar(124, 3)
    bench.put_scalar(13, 77)
    bench.run("s_movrels_b32 s4, s10")
    assert bench.get_scalar(4) == 77
    bench.put_scalar(5, 88)
    bench.run("s_movreld_b32 s20, s5")
    assert bench.get_scalar(23) == 88
