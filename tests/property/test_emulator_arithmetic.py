"""The emulator's arithmetic is exact for any operands that hypothesis can think of."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.emulator.bench import LANES, WAVES, Bench
from tests.unit.emulator.exact import BY_WIDTH
from tests.unit.emulator.test_paths import check

from kernelmill.emulator import floats
from kernelmill.emulator.access import gather, scatter
from kernelmill.emulator.fp8 import E4M3FNUZ, E5M2FNUZ, Fp8

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array

BENCH: Final = Bench()
WORDS = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8)
PAIRS = st.integers(0, 2**64 - 1)


def lanes(values: list[int]) -> Array:
    return np.resize(np.array(values, np.uint32), (WAVES, LANES))


def reals(width: int) -> st.SearchStrategy[float]:
    return st.floats(width=width, allow_nan=False, allow_infinity=False)  # type: ignore[arg-type]


FUSED = {16: floats.fma16, 32: floats.fma32, 64: floats.fma64}


@pytest.mark.parametrize("width", [16, 32, 64])
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_fused_multiply_add_is_rounded_once(width: int, data: st.DataObject) -> None:
    a, b, c = (data.draw(reals(width)) for _ in range(3))
    with np.errstate(all="ignore"):
        operands = (np.array([value], f"f{width // 8}") for value in (a, b, c))
        found = float(FUSED[width](*operands)[0])
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        expected = BY_WIDTH[width].round(exact)
        assert found == expected
        assert math.copysign(1, found) == math.copysign(1, expected)
    else:
        assert found == 0


@settings(max_examples=100, deadline=None)
@given(a=PAIRS, b=PAIRS)
def test_sums_of_two_words_make_sums_of_64_bits(a: int, b: int) -> None:
    BENCH.put_scalar(4, a, words=2)
    BENCH.put_scalar(6, b, words=2)
    BENCH.run("s_add_u32 s8, s4, s6")
    BENCH.run("s_addc_u32 s9, s5, s7")
    assert BENCH.get_scalar(8, words=2) == (a + b) % 2**64
    BENCH.run("s_sub_u32 s8, s4, s6")
    BENCH.run("s_subb_u32 s9, s5, s7")
    assert BENCH.get_scalar(8, words=2) == (a - b) % 2**64


@settings(max_examples=100, deadline=None)
@given(a=WORDS, b=WORDS)
def test_low_and_high_halves_make_the_product(a: list[int], b: list[int]) -> None:
    first, second = lanes(a), lanes(b)
    BENCH.put(10, first)
    BENCH.put(11, second)
    BENCH.run("v_mul_lo_u32 v4, v10, v11")
    BENCH.run("v_mul_hi_u32 v5, v10, v11")
    product = first.astype(np.uint64) * second.astype(np.uint64)
    np.testing.assert_array_equal(BENCH.get(4, "u8"), product)


@settings(max_examples=100, deadline=None)
@given(a=WORDS, amount=st.integers(0, 31))
def test_aligning_a_word_with_itself_rotates_it(a: list[int], amount: int) -> None:
    words = lanes(a)
    BENCH.put(10, words)
    BENCH.run(f"v_alignbit_b32 v4, v10, v10, {amount}")
    rotated = [(int(w) >> amount | int(w) << (32 - amount)) & 0xFFFF_FFFF for w in words.flat]
    np.testing.assert_array_equal(BENCH.get(4, "u4").reshape(-1), np.array(rotated, np.uint32))


@settings(max_examples=60, deadline=None)
@given(a=WORDS, places=st.permutations(range(4)))
def test_bytes_come_home_when_they_are_permuted_back(a: list[int], places: list[int]) -> None:
    back = [places.index(i) for i in range(4)]
    selectors = [sum(place << 8 * i for i, place in enumerate(order)) for order in (places, back)]
    BENCH.put(10, lanes(a))
    for source, target, selector in ((10, 4, selectors[0]), (4, 5, selectors[1])):
        BENCH.put(11, np.uint32(selector))
        BENCH.run(f"v_perm_b32 v{target}, v{source}, v{source}, v11")
    np.testing.assert_array_equal(BENCH.get(5, "u4"), lanes(a))


@settings(max_examples=60, deadline=None)
@given(amount=st.integers(1, 15))
def test_rows_come_home_when_they_are_rotated_twice(amount: int) -> None:
    values = BENCH.get(12, "u4").copy()
    BENCH.run(f"v_mov_b32_dpp v4, v12 row_ror:{amount} row_mask:0xf bank_mask:0xf")
    BENCH.run(f"v_mov_b32_dpp v5, v4 row_ror:{16 - amount} row_mask:0xf bank_mask:0xf")
    np.testing.assert_array_equal(BENCH.get(5, "u4"), values)


@pytest.mark.parametrize("form", [E4M3FNUZ, E5M2FNUZ], ids=["e4m3", "e5m2"])
@settings(max_examples=300, deadline=None)
@given(value=reals(32))
def test_encoding_picks_the_nearest_code(form: Fp8, value: float) -> None:
    code = int(form.encode(np.array([value], np.float32), saturates=True)[0])
    numbers = np.delete(form.table.astype(np.float64), 0x80)
    distance = np.abs(numbers - value).min()
    assert abs(float(form.table[code]) - value) == distance


@settings(max_examples=60, deadline=None)
@given(
    places=st.lists(st.integers(0, 500), min_size=1, max_size=20, unique=True),
    width=st.sampled_from([1, 2, 4, 8, 12, 16]),
    shift=st.integers(0, 15),
)
def test_what_is_scattered_is_gathered(places: list[int], width: int, shift: int) -> None:
    held = np.zeros(16 * 512 + 64, np.uint8)
    addresses = held.ctypes.data + shift + 16 * np.array(places)
    words = [
        np.random.default_rng(i).integers(0, 2 ** min(8 * width, 32), len(places), dtype=np.uint64)
        for i in range(max(width // 4, 1))
    ]
    scatter(addresses, width, [word.astype(np.uint32) for word in words])
    for found, word in zip(gather(addresses, width), words, strict=True):
        np.testing.assert_array_equal(found, word.astype(np.uint32))


SOME = st.lists(
    st.sampled_from([
        "global_load_dword v1, v[2:3], off", "ds_read_b64 v[4:5], v1", "ds_write_b32 v1, v4",
        "s_load_dwordx2 s[4:5], s[0:1], 0x0", "v_add_u32_e32 v2, v1, v4", "s_add_u32 s6, s4, s5",
        "global_store_dword v[2:3], v4, off", "flat_load_dword v3, v[2:3]", "s_barrier",
        "global_atomic_add v5, v[2:3], v1, off sc0",
    ]), max_size=12,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(lines=SOME)
def test_no_wait_is_missing_when_everything_is_waited_for(lines: list[str]) -> None:
    careful = "\n".join(f"{line}\ns_waitcnt vmcnt(0) lgkmcnt(0)" for line in lines)
    assert check(careful) == []


@settings(max_examples=60, deadline=None)
@given(lines=SOME)
def test_a_load_is_missed_when_nothing_waits_for_it(lines: list[str]) -> None:
    others = [line for line in lines if "v1" not in line and "v[2:3]" not in line]
    code = ["global_load_dword v1, v[2:3], off", *others, "v_mov_b32_e32 v9, v1"]
    assert "v_mov_b32: reads v1" in " ".join(detail for _, detail in check("\n".join(code)))
