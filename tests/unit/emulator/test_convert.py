"""Conversions round, saturate and treat NaN as the hardware does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from tests.unit.emulator.bench import LANES, Bench

if TYPE_CHECKING:
    from collections.abc import Callable

REALS: Final = (0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 254.5, 300.0, -300.0, 3e9, -3e9, 5e9, 65519.0,
                65520.0, 1e-8, math.inf, -math.inf, math.nan, 1e30)  # fmt: skip


def saturated(low: int, high: int, rounding: Callable[[float], int]) -> Callable[[float], int]:
    def convert(value: float) -> int:
        if math.isnan(value):
            return 0
        return (
            low if value <= low else high if value >= high else min(max(rounding(value), low), high)
        )

    return convert


TO_INTEGER: Final = {
    "v_cvt_i32_f32": ("f4", "i4", saturated(-(2**31), 2**31 - 1, math.trunc)),
    "v_cvt_u32_f32": ("f4", "u4", saturated(0, 2**32 - 1, math.trunc)),
    "v_cvt_i32_f64": ("f8", "i4", saturated(-(2**31), 2**31 - 1, math.trunc)),
    "v_cvt_u32_f64": ("f8", "u4", saturated(0, 2**32 - 1, math.trunc)),
    "v_cvt_flr_i32_f32": ("f4", "i4", saturated(-(2**31), 2**31 - 1, math.floor)),
    "v_cvt_rpi_i32_f32": (
        "f4",
        "i4",
        saturated(-(2**31), 2**31 - 1, lambda v: math.floor(v + 0.5)),
    ),
}


@pytest.mark.parametrize("name", TO_INTEGER)
def test_reals_become_whole_numbers_within_their_type(name: str) -> None:
    source, target, convert = TO_INTEGER[name]
    values = np.resize(np.array(REALS, source), (2, LANES))
    bench = Bench()
    bench.put(10, values)
    bench.run(f"{name}_e32 v4, {'v[10:11]' if source == 'f8' else 'v10'}")
    expected = np.array([convert(float(value)) for value in values.flat])
    np.testing.assert_array_equal(bench.get(4, target).reshape(-1).astype(np.int64), expected)


FROM: Final = {
    "v_cvt_f32_i32": ("i4", "f4"), "v_cvt_f32_u32": ("u4", "f4"), "v_cvt_f64_i32": ("i4", "f8"),
    "v_cvt_f64_u32": ("u4", "f8"), "v_cvt_f64_f32": ("f4", "f8"), "v_cvt_f32_f64": ("f8", "f4"),
}  # fmt: skip


@pytest.mark.parametrize("name", FROM)
def test_numbers_are_rounded_to_nearest_when_the_type_is_narrower(name: str) -> None:
    source, target = FROM[name]
    bench, bits = Bench(), np.random.default_rng(1).integers(0, 2**63, (2, LANES), dtype=np.uint64)
    values = np.ascontiguousarray(bits).view(source)[:, :: 8 // np.dtype(source).itemsize]
    if source[0] == "f":
        values = np.random.default_rng(2).normal(size=(2, LANES)).astype(source)
    bench.put(10, values)
    wide = "v[10:11]" if np.dtype(source).itemsize == 8 else "v10"
    bench.run(f"{name}_e32 {'v[4:5]' if target == 'f8' else 'v4'}, {wide}")
    np.testing.assert_array_equal(bench.get(4, target), values.astype(target))


def test_halves_are_rounded_to_nearest_or_toward_zero() -> None:
    bench, values = Bench(), np.random.default_rng(3).normal(size=(2, 2, LANES)).astype(np.float32)
    bench.put(10, values[0])
    bench.put(11, values[1])
    bench.run("v_cvt_f16_f32_e32 v4, v10")
    nearest = values[0].astype(np.float16)
    np.testing.assert_array_equal(bench.get(4, "u4"), nearest.view(np.uint16).astype(np.uint32))
    bench.run("v_cvt_pkrtz_f16_f32 v4, v10, v11")
    packed = bench.get(4, "u4")
    for place in range(2):
        found = (packed >> 16 * place).astype(np.uint16).view(np.float16)
        given = values[place]
        assert (np.abs(found.astype(np.float32)) <= np.abs(given)).all()
        next_up = np.nextafter(np.abs(found), np.float16(np.inf)).astype(np.float32)
        assert (next_up > np.abs(given)).all()
    bench.run("v_cvt_f32_f16_sdwa v5, v4 src0_sel:WORD_1")
    np.testing.assert_array_equal(bench.get(5, "f4"), found.astype(np.float32))


@pytest.mark.parametrize("byte", range(4))
def test_a_byte_becomes_a_real(byte: int) -> None:
    bench, words = Bench(), np.arange(2 * LANES, dtype=np.uint32).reshape(2, LANES) * 0x01030507
    bench.put(10, words)
    bench.run(f"v_cvt_f32_ubyte{byte}_e32 v4, v10")
    np.testing.assert_array_equal(bench.get(4, "f4"), (words >> 8 * byte & 0xFF).astype(np.float32))


def test_minus_one_to_one_fill_an_integer_type_when_numbers_are_normalised() -> None:
    bench = Bench()
    for value, signed, unsigned in (
        (1.0, 0x7FFF, 0xFFFF),
        (-1.0, 0x8001, 0),
        (0.5, 0x4000, 0x8000),
    ):
        bench.put(10, np.float32(value))
        bench.run("v_cvt_pknorm_i16_f32 v4, v10, v10")
        assert bench.get(4, "u4")[0, 0] == signed * 0x10001
        bench.run("v_cvt_pknorm_u16_f32 v4, v10, v10")
        assert bench.get(4, "u4")[0, 0] == unsigned * 0x10001


def test_four_bits_are_sixteenths() -> None:
    bench = Bench()
    for code, value in ((0, 0.0), (7, 0.4375), (8, -0.5), (15, -0.0625)):
        bench.put(10, np.uint32(code))
        bench.run("v_cvt_off_f32_i4_e32 v4, v10")
        assert bench.get(4, "f4")[0, 0] == value


def test_a_real_replaces_one_byte_of_a_word() -> None:
    bench = Bench()
    bench.put(10, np.float32(200.4))
    bench.put(11, np.uint32(2))
    bench.put(12, np.uint32(0x11223344))
    bench.run("v_cvt_pk_u8_f32 v4, v10, v11, v12")
    assert bench.get(4, "u4")[0, 0] == 0x11C83344
