"""FP8 codes mean what the FNUZ formats say: all 256 of them, both ways."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.unit.emulator.bench import LANES, Bench

from kernelmill.emulator.fp8 import E4M3FNUZ, E5M2FNUZ, Fp8


def value_of(code: int, exponent_bits: int, mantissa_bits: int, bias: int) -> float:
    """Decode by the definition: 0x80 is the only NaN, there are no infinities."""
    if code == 0x80:
        return math.nan
    sign = -1.0 if code & 0x80 else 1.0
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    fraction = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    return sign * (1 + fraction) * 2.0 ** (exponent - bias)


FORMATS = [pytest.param(E4M3FNUZ, 4, 3, 8, id="e4m3"), pytest.param(E5M2FNUZ, 5, 2, 16, id="e5m2")]


@pytest.mark.parametrize(("form", "exponent_bits", "mantissa_bits", "bias"), FORMATS)
def test_table_holds_every_code(
    form: Fp8, exponent_bits: int, mantissa_bits: int, bias: int
) -> None:
    expected = [value_of(code, exponent_bits, mantissa_bits, bias) for code in range(256)]
    np.testing.assert_array_equal(form.table, np.array(expected, np.float32))


def test_largest_numbers_are_those_of_the_formats() -> None:
    assert E4M3FNUZ.largest == 240
    assert E5M2FNUZ.largest == 57344


@pytest.mark.parametrize("form", [E4M3FNUZ, E5M2FNUZ], ids=["e4m3", "e5m2"])
def test_every_code_survives_when_it_is_decoded_and_encoded(form: Fp8) -> None:
    codes = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(form.encode(form.table, saturates=False), codes)


@pytest.mark.parametrize("form", [E4M3FNUZ, E5M2FNUZ], ids=["e4m3", "e5m2"])
def test_the_nearest_code_is_chosen_when_a_number_lies_between_two(form: Fp8) -> None:
    positive = form.table[:128].astype(np.float64)
    middles = (positive[1:] + positive[:-1]) / 2
    lower = np.arange(127)
    even = lower + (lower & 1)  # a tie goes to the code that is even
    np.testing.assert_array_equal(form.encode(middles.astype(np.float32), saturates=False), even)
    above = np.nextafter(middles.astype(np.float32), np.float32(np.inf))
    np.testing.assert_array_equal(form.encode(above, saturates=False), lower + 1)
    below = np.nextafter(middles.astype(np.float32), np.float32(0))
    np.testing.assert_array_equal(form.encode(below, saturates=False), lower)


def test_what_is_too_large_becomes_nan_or_the_largest_number() -> None:
    values = np.array([1000.0, -1000.0, np.inf, -np.inf, np.nan], np.float32)
    assert list(E4M3FNUZ.encode(values, saturates=False)) == [0x80] * 5
    assert list(E4M3FNUZ.encode(values, saturates=True)) == [0x7F, 0xFF, 0x7F, 0xFF, 0x80]


def test_there_is_no_negative_zero() -> None:
    values = np.array([-0.0, -1e-9], np.float32)
    assert list(E4M3FNUZ.encode(values, saturates=False)) == [0, 0]


def test_chance_decides_when_rounding_is_stochastic() -> None:
    value = np.full(4, 1.0 + 1 / 32, np.float32)  # a quarter of the way from 1 to 1.125
    noise = np.array([0, 0x8000_0000, 0xBFFF_0000, 0xC000_0000], np.uint32)
    found = E4M3FNUZ.table[E4M3FNUZ.encode_stochastic(value, noise, saturates=False)]
    assert list(found) == [1.0, 1.0, 1.0, 1.125]


@pytest.mark.parametrize("byte", range(4))
@pytest.mark.parametrize(("name", "form"), [("fp8", E4M3FNUZ), ("bf8", E5M2FNUZ)])
def test_instruction_decodes_the_byte_that_sdwa_selects(name: str, form: Fp8, byte: int) -> None:
    bench = Bench()
    words = np.random.default_rng(1).integers(0, 2**32, (2, LANES), dtype=np.uint32)
    bench.put(10, words)
    bench.run(f"v_cvt_f32_{name}_sdwa v3, v10 src0_sel:BYTE_{byte}")
    np.testing.assert_array_equal(bench.get(3, "f4"), form.table[words >> 8 * byte & 0xFF])
    if byte % 2 == 0:
        bench.run(f"v_cvt_pk_f32_{name}_sdwa v[4:5], v10 src0_sel:WORD_{byte // 2}")
        np.testing.assert_array_equal(bench.get(4, "f4"), form.table[words >> 8 * byte & 0xFF])
        np.testing.assert_array_equal(
            bench.get(5, "f4"), form.table[words >> 8 * (byte + 1) & 0xFF]
        )


@pytest.mark.parametrize(("modifiers", "shift"), [("", 0), (" op_sel:[0,0,1]", 16)])
def test_instruction_encodes_two_numbers_into_the_half_that_op_sel_selects(
    modifiers: str, shift: int
) -> None:
    bench, random = Bench(), np.random.default_rng(2)
    a, b = (random.normal(size=(2, 2, LANES)) * 20).astype(np.float32)
    bench.put(10, a)
    bench.put(11, b)
    before = bench.get(3, "u4").copy()
    bench.run(f"v_cvt_pk_fp8_f32 v3, v10, v11{modifiers}")
    low, high = (E4M3FNUZ.encode(x, saturates=False).astype(np.uint32) for x in (a, b))
    kept = before & np.uint32(0xFFFF_0000 >> shift)
    np.testing.assert_array_equal(bench.get(3, "u4"), (low | high << 8) << shift | kept)


@pytest.mark.parametrize("byte", range(4))
def test_instruction_rounds_by_chance_into_the_byte_that_op_sel_selects(byte: int) -> None:
    bench, random = Bench(), np.random.default_rng(3)
    value = (random.normal(size=(2, LANES)) * 20).astype(np.float32)
    noise = random.integers(0, 2**32, (2, LANES), dtype=np.uint32)
    bench.put(10, value)
    bench.put(11, noise)
    before = bench.get(3, "u4").copy()
    bench.run(f"v_cvt_sr_fp8_f32 v3, v10, v11 op_sel:[0,0,{byte & 1},{byte >> 1}]")
    code = E4M3FNUZ.encode_stochastic(value, noise, saturates=False).astype(np.uint32)
    kept = before & ~np.uint32(0xFF << 8 * byte)
    np.testing.assert_array_equal(bench.get(3, "u4"), code << 8 * byte | kept)
