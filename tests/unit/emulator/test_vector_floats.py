"""Floating-point instructions are rounded once, as fractions of whole numbers say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from tests.unit.emulator.bench import LANES, Bench
from tests.unit.emulator.exact import BY_WIDTH

from kernelmill.emulator import floats

if TYPE_CHECKING:
    from collections.abc import Callable

DTYPE: Final = {16: "f2", 32: "f4", 64: "f8"}
SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, 3.0, -2.5)
Array = np.ndarray[tuple[int, ...], np.dtype[np.floating]]


def noise(width: int, count: int) -> list[Array]:
    """Return operands for 128 lanes: special values, then numbers of all sizes."""
    random, dtype = np.random.default_rng(width), DTYPE[width]
    edges = (*SPECIAL, float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_subnormal),
             float(np.finfo(dtype).smallest_normal) * 1.5)  # fmt: skip
    found = []
    for place in range(count):
        spread = {16: 6, 32: 20, 64: 60}[width]
        size = random.normal(size=(2, LANES)) * 2.0 ** random.integers(-spread, spread, (2, LANES))
        values = size.astype(dtype)
        special = np.array(edges, dtype)
        values[0] = special[(np.arange(LANES) // (1 if place == 0 else 5)) % len(special)]
        found.append(values)
    return found


def put(bench: Bench, index: int, values: Array | np.floating) -> None:
    if values.dtype.itemsize == 2:
        bench.put(index, values.view(np.uint16).astype(np.uint32))
    else:
        bench.put(index, values)


def get(bench: Bench, index: int, width: int) -> Array:
    if width > 16:
        return bench.get(index, DTYPE[width])
    found: Array = (bench.get(index, "u4") & 0xFFFF).astype(np.uint16).view(np.float16)
    return found


def registers(index: int, width: int) -> str:
    return f"v[{index}:{index + 1}]" if width == 64 else f"v{index}"


def assert_same(found: Array, expected: list[float]) -> None:
    """Compare, with NaN equal to NaN and the zeros told apart."""
    wanted = np.array(expected, found.dtype)
    np.testing.assert_array_equal(found.reshape(-1), wanted)
    zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(found.reshape(-1))[zero], np.signbit(wanted)[zero])


def exactly(width: int, compute: Callable[..., Fraction]) -> Callable[..., float]:
    """Return ``compute`` on finite numbers, rounded; IEEE's rules through floats for the others."""

    def rounded(*values: float) -> float:
        plain = float(np.float64(0))
        with np.errstate(all="ignore"):
            plain = float(compute(*map(np.float64, values)))
        if not all(map(math.isfinite, values)):
            return plain
        exact = compute(*map(Fraction, values))
        return BY_WIDTH[width].round(exact) if exact else plain

    return rounded


ARITHMETIC: Final[dict[str, tuple[int, Callable[..., Fraction]]]] = {
    "v_add_f{}": (2, lambda a, b: a + b),
    "v_sub_f{}": (2, lambda a, b: a - b),
    "v_subrev_f{}": (2, lambda a, b: b - a),
    "v_mul_f{}": (2, lambda a, b: a * b),
    "v_fma_f{}": (3, lambda a, b, c: a * b + c),
}


@pytest.mark.parametrize(
    ("name", "width"),
    [
        (name, width)
        for name in ARITHMETIC
        for width in (16, 32, 64)
        if width < 64 or "sub" not in name
    ],
)
def test_arithmetic_is_rounded_once(name: str, width: int) -> None:
    count, compute = ARITHMETIC[name]
    bench, operands = Bench(), noise(width, count)
    for place, values in enumerate(operands):
        put(bench, 10 + 2 * place, values)
    sources = ", ".join(registers(10 + 2 * place, width) for place in range(count))
    bench.run(f"{name.format(width)}_e64 {registers(4, width)}, {sources}")
    reference = exactly(width, compute)
    expected = [reference(*map(float, v)) for v in zip(*(x.flat for x in operands), strict=True)]
    assert_same(get(bench, 4, width), expected)


@pytest.mark.parametrize("seed", range(20))
def test_fused_multiply_add_is_rounded_once_when_a_tie_is_near(seed: int) -> None:
    random = np.random.default_rng(seed)
    a = (1 + random.integers(0, 2**12, 500) * 2.0**-12).astype(np.float32)
    b = (1 + random.integers(0, 2**12, 500) * 2.0**-12).astype(np.float32)
    c = (random.choice([-1, 1], 500) * 2.0 ** random.integers(-60, -20, 500)).astype(np.float32)
    found = floats.fma32(a, b, c)
    exact = [
        BY_WIDTH[32].round(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))
        for x, y, z in zip(a, b, c, strict=True)
    ]
    np.testing.assert_array_equal(found, np.array(exact, np.float32))


@pytest.mark.parametrize("name", ["v_fmac_f32_e32", "v_fmac_f64_e32"])
def test_the_destination_is_added_to_when_an_instruction_accumulates(name: str) -> None:
    width = 64 if "64" in name else 32
    bench, (a, b, c) = Bench(), noise(width, 3)
    for index, values in ((10, a), (12, b), (4, c)):
        put(bench, index, values)
    bench.run(f"{name} {registers(4, width)}, {registers(10, width)}, {registers(12, width)}")
    reference = exactly(width, lambda x, y, z: x * y + z)
    expected = [reference(*map(float, v)) for v in zip(a.flat, b.flat, c.flat, strict=True)]
    assert_same(get(bench, 4, width), expected)


def test_constants_take_their_place_when_a_multiply_add_holds_one() -> None:
    bench, (a, b) = Bench(), noise(32, 2)
    put(bench, 10, a)
    put(bench, 11, b)
    bench.run("v_fmamk_f32 v3, v10, 0x40400000, v11")
    reference = exactly(32, lambda x, y: x * 3 + y)
    pairs = list(zip(map(float, a.flat), map(float, b.flat), strict=True))
    assert_same(get(bench, 3, 32), [reference(*pair) for pair in pairs])
    bench.run("v_fmaak_f32 v3, v10, v11, 0x40400000")
    reference = exactly(32, lambda x, y: x * y + 3)
    assert_same(get(bench, 3, 32), [reference(*pair) for pair in pairs])


def rint(value: float) -> float:
    return math.copysign(float(round(value)), value) if math.isfinite(value) else value


def whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda v: math.copysign(float(function(v)), v) if math.isfinite(v) else v


ONE: Final[dict[str, Callable[[float], float]]] = {
    "v_trunc_f{}": whole(math.trunc),
    "v_floor_f{}": whole(math.floor),
    "v_ceil_f{}": whole(math.ceil),
    "v_rndne_f{}": rint,
    "v_frexp_mant_f{}": lambda v: math.frexp(v)[0] if math.isfinite(v) else v,
}


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("name", ONE)
def test_rounding_to_whole_numbers_keeps_signs(name: str, width: int) -> None:
    bench, (a,) = Bench(), noise(width, 1)
    put(bench, 10, a)
    bench.run(f"{name.format(width)}_e32 {registers(4, width)}, {registers(10, width)}")
    assert_same(get(bench, 4, width), [ONE[name](float(value)) for value in a.flat])


@pytest.mark.parametrize(
    ("name", "compute"),
    [
        ("v_rcp_f32", lambda v: 1 / v),
        ("v_rsq_f32", lambda v: 1 / math.sqrt(v)),
        ("v_sqrt_f32", math.sqrt),
        ("v_exp_f32", lambda v: 2.0**v),
        ("v_log_f32", math.log2),
        ("v_rcp_f64", lambda v: 1 / v),
        ("v_rcp_f16", lambda v: 1 / v),
        ("v_exp_f16", lambda v: 2.0**v),
    ],
)
def test_approximations_are_within_one_unit(name: str, compute: Callable[[float], float]) -> None:
    width = int(name[-2:])
    values = np.linspace(0.01, 9.0, 2 * LANES).reshape(2, LANES).astype(DTYPE[width])
    bench = Bench()
    put(bench, 10, values)
    bench.run(f"{name}_e32 {registers(4, width)}, {registers(10, width)}")
    expected = np.array([compute(float(value)) for value in values.flat], DTYPE[width])
    np.testing.assert_array_max_ulp(get(bench, 4, width).reshape(-1), expected, maxulp=1)


def test_angles_are_in_turns_when_a_sine_is_taken() -> None:
    values = np.linspace(-3.0, 3.0, 2 * LANES).reshape(2, LANES).astype(np.float32)
    bench = Bench()
    put(bench, 10, values)
    for name, function in (("v_sin_f32", math.sin), ("v_cos_f32", math.cos)):
        bench.run(f"{name}_e32 v4, v10")
        expected = [function(2 * math.pi * float(value)) for value in values.flat]
        np.testing.assert_allclose(get(bench, 4, 32).reshape(-1), expected, atol=1e-6)


def test_float32_units_know_no_denormal_numbers_when_they_approximate() -> None:
    bench = Bench()
    put(bench, 10, np.full((2, LANES), 1e-40, np.float32))
    bench.run("v_rcp_f32_e32 v4, v10")
    assert np.isinf(get(bench, 4, 32)).all()


@pytest.mark.parametrize("width", [16, 32, 64])
def test_a_number_wins_against_nan_when_the_least_is_taken(width: int) -> None:
    bench, (a, b) = Bench(), noise(width, 2)
    put(bench, 10, a)
    put(bench, 12, b)
    sources = f"{registers(4, width)}, {registers(10, width)}, {registers(12, width)}"
    for name, function in (("min", np.fmin), ("max", np.fmax)):
        bench.run(f"v_{name}_f{width}_e64 {sources}")
        np.testing.assert_array_equal(get(bench, 4, width), function(a, b))


def test_zeros_have_an_order_when_the_least_is_taken() -> None:
    bench = Bench()
    put(bench, 10, np.float32(0.0))
    put(bench, 11, np.float32(-0.0))
    for text, is_negative in (
        ("v_min_f32_e32 v4, v10, v11", True),
        ("v_min_f32_e32 v4, v11, v10", True),
        ("v_max_f32_e32 v4, v10, v11", False),
        ("v_max_f32_e32 v4, v11, v10", False),
    ):
        bench.run(text)
        assert (np.signbit(get(bench, 4, 32)) == is_negative).all(), text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v_add_f32_e64 v4, -v10, v11", lambda a, b: -a + b),
        ("v_add_f32_e64 v4, |v10|, v11", lambda a, b: abs(a) + b),
        ("v_mul_f32_e64 v4, -|v10|, v11", lambda a, b: -abs(a) * b),
        ("v_add_f32_e64 v4, v10, v11 mul:2", lambda a, b: (a + b) * 2),
        ("v_add_f32_e64 v4, v10, v11 div:2", lambda a, b: (a + b) / 2),
        ("v_add_f32_e64 v4, v10, v11 clamp", lambda a, b: min(max(a + b, 0.0), 1.0)),
        ("v_add_f32_e32 v4, 0.5, v10", lambda a, _b: a + 0.5),
        ("v_add_f32_e32 v4, 0x40490fdb, v10", lambda a, _b: a + float(np.float32(math.pi))),
        ("v_mul_f32_e32 v4, -4.0, v11", lambda _a, b: -4 * b),
        ("v_add_f32_e32 v4, s20, v10", lambda a, _b: a + 2.5),
    ],
)
def test_modifiers_change_sources_and_result(
    text: str, expected: Callable[[float, float], float]
) -> None:
    random = np.random.default_rng(3)
    a, b = random.normal(size=(2, 2, LANES)).astype(np.float32)
    bench = Bench()
    put(bench, 10, a)
    put(bench, 11, b)
    bench.put_scalar(20, 0x4020_0000)
    bench.run(text)
    wanted = [np.float32(expected(float(x), float(y))) for x, y in zip(a.flat, b.flat, strict=True)]
    np.testing.assert_array_max_ulp(get(bench, 4, 32).reshape(-1), np.array(wanted), maxulp=1)


@pytest.mark.parametrize(
    ("modifiers", "words", "signs"),
    [
        ("", (0, 0, 1, 1), (1, 1)),
        (" op_sel:[1,0] op_sel_hi:[0,1]", (1, 0, 0, 1), (1, 1)),
        (" neg_lo:[1,0] neg_hi:[0,1]", (0, 0, 1, 1), (-1, -1)),
    ],
)
def test_pairs_of_float32_are_multiplied_at_once(
    modifiers: str, words: tuple[int, int, int, int], signs: tuple[int, int]
) -> None:
    random = np.random.default_rng(4)
    operands = random.normal(size=(4, 2, LANES)).astype(np.float32)
    bench = Bench()
    for index, values in zip((10, 11, 12, 13), operands, strict=True):
        put(bench, index, values)
    bench.run(f"v_pk_mul_f32 v[4:5], v[10:11], v[12:13]{modifiers}")
    low = operands[words[0]] * operands[2 + words[1]] * signs[0]
    high = operands[words[2]] * operands[2 + words[3]] * signs[1]
    np.testing.assert_array_equal(get(bench, 4, 32), low)
    np.testing.assert_array_equal(get(bench, 5, 32), high)


def test_mixed_precision_reads_halves_where_op_sel_hi_says_so() -> None:
    random = np.random.default_rng(5)
    halves = random.normal(size=(2, 2, LANES)).astype(np.float16)
    c = random.normal(size=(2, LANES)).astype(np.float32)
    bench = Bench()
    packed = halves[0].view(np.uint16).astype(np.uint32)
    bench.put(10, packed | halves[1].view(np.uint16).astype(np.uint32) << np.uint32(16))
    put(bench, 11, c)
    bench.run("v_fma_mix_f32 v4, v10, v10, v11 op_sel:[0,1,0] op_sel_hi:[1,1,0]")
    product = halves[0].astype(np.float64) * halves[1].astype(np.float64)
    np.testing.assert_array_equal(get(bench, 4, 32), (product + c).astype(np.float32))


def test_dot_product_of_halves_is_summed_in_float32() -> None:
    random = np.random.default_rng(6)
    a, b = random.normal(size=(2, 2, LANES, 2)).astype(np.float16)
    c = random.normal(size=(2, LANES)).astype(np.float32)
    bench = Bench()
    bench.put(10, a.view(np.uint32)[..., 0])
    bench.put(11, b.view(np.uint32)[..., 0])
    put(bench, 12, c)
    bench.run("v_dot2_f32_f16 v4, v10, v11, v12")
    expected = (a.astype(np.float64) * b.astype(np.float64)).sum(axis=-1) + c
    np.testing.assert_array_max_ulp(get(bench, 4, 32), expected.astype(np.float32), maxulp=1)


CLASSES: Final[tuple[tuple[float, int], ...]] = (
    (math.nan, 1), (-math.inf, 2), (-1.0, 3), (-1e-40, 4), (-0.0, 5),
    (0.0, 6), (1e-40, 7), (1.0, 8), (math.inf, 9),
)  # fmt: skip


@pytest.mark.parametrize(("value", "bit"), CLASSES)
def test_a_number_has_one_class(value: float, bit: int) -> None:
    bench = Bench()
    put(bench, 10, np.float32(value))
    for mask in range(10):
        bench.put(11, np.uint32(1 << mask))
        bench.run("v_cmp_class_f32_e64 s[20:21], v10, v11")
        assert bool(bench.get_scalar(20, words=2)) == (mask == bit)


def test_scaling_by_powers_of_two_is_rounded_once_when_it_ends_denormal() -> None:
    bench = Bench()
    put(bench, 10, np.float32(1 + 2**-23))
    bench.put(11, np.int32(-130))
    bench.run("v_ldexp_f32 v4, v10, v11")
    exact = BY_WIDTH[32].round(Fraction(float(np.float32(1 + 2**-23))) / 2**130)
    assert (get(bench, 4, 32) == np.float32(exact)).all()


def test_a_third_of_the_reduction_table_is_two_over_pi() -> None:
    bench = Bench()
    put(bench, 10, np.float64(1.0))
    total = 0.0
    for segment in range(3):
        bench.put(12, np.uint32(segment))
        bench.run("v_trig_preop_f64 v[4:5], v[10:11], v12")
        total += float(bench.get(4, "f8")[0, 0])
    assert total == 2 / math.pi
