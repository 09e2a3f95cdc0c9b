"""Our HIP headers, by the numbers that gfx942's machine code gives in the emulator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.integration.device_code import KERNELS, Device, code_object, compiler

from kernelmill.builder.hip.errors import HipToolchainError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

pytest.importorskip("ziglang")
BLOCK = 64


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Device:
    try:
        compiler()
    except HipToolchainError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("headers")
    return Device(code_object(KERNELS / "hip_headers.hip", folder))


def blocks(count: int) -> tuple[int, int, int]:
    return (-(-count // BLOCK), 1, 1)


def steps_apart(found: NDArray[np.float32], exact: NDArray[np.float64]) -> float:
    """Return the largest error in units in the last place of float32, at least those of 1e-30."""
    with np.errstate(all="ignore"):
        wanted = exact.astype(np.float32)
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        spacing = np.spacing(np.maximum(np.abs(wanted), np.float32(1e-30)))
        error = np.abs(found.astype(np.float64) - exact) / spacing
    return float(np.max(np.where(same, 0, np.nan_to_num(error, nan=np.inf))))


POINTS = np.concatenate(
    [
        np.linspace(-12, 12, 301),
        np.geomspace(1e-8, 30, 80),
        -np.geomspace(1e-8, 0.999, 40),
        [0.0, 1000.5, -0.5, 2.5, np.inf, -np.inf, np.nan],
    ]
).astype(np.float32)

FUNCTIONS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "expm1f": np.expm1,
    "log1pf": np.log1p,
    "tanhf": np.tanh,
    "coshf": np.cosh,
    "sinhf": np.sinh,
    "erff": np.vectorize(math.erf),
    "sinf": np.sin,
    "cosf": np.cos,
    "exp10f": lambda x: 10.0**x,
    "roundf": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "fabs": np.abs,
    "max": lambda x: np.fmax(x, 0.5),
}


@pytest.fixture(scope="module")
def values(device: Device) -> dict[str, NDArray[np.float32]]:
    count = POINTS.size
    out = device.put(np.zeros(count * len(FUNCTIONS), np.float32))
    device.launch("math", out, device.put(POINTS), count, grid=blocks(count))
    rows = device.get(out, count * len(FUNCTIONS), "float32").reshape(len(FUNCTIONS), count)
    return dict(zip(FUNCTIONS, rows, strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float_functions_are_right(values: dict[str, NDArray[np.float32]], name: str) -> None:
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](POINTS.astype(np.float64))
    assert steps_apart(values[name], exact) <= 1.0


def test_powers_are_right(device: Device) -> None:
    special = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 1e30, np.inf, -np.inf, np.nan]
    x, y = (it.ravel() for it in np.meshgrid(special, special))
    x = np.concatenate([x, np.geomspace(1e-20, 1e20, 150)]).astype(np.float32)
    y = np.concatenate([y, np.linspace(-1.9, 1.9, 150)]).astype(np.float32)
    out = device.put(np.zeros(x.size, np.float32))
    device.launch("powers", out, device.put(x), device.put(y), x.size, grid=blocks(x.size))
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    assert steps_apart(device.get(out, x.size, "float32"), exact) <= 1.0


def test_remainders_are_right(device: Device) -> None:
    x = np.linspace(-100, 100, 128, dtype=np.float32)
    y = np.full(128, 0.7, np.float32)
    out = device.put(np.zeros(128, np.float32))
    device.launch("remainders", out, device.put(x), device.put(y), 128, grid=blocks(128))
    assert np.array_equal(device.get(out, 128, "float32"), np.fmod(x, y))


def bfloat16_bits(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def test_every_float16_and_bfloat16_survives_the_way_there_and_back(device: Device) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    places = [device.put(np.zeros(bits.size, it)) for it in ("u2", "u2", "f4", "f4")]
    device.launch("sixteen_bits", *places, grid=(256, 1, 1), block=(256, 1, 1))
    half_back, bf16_back = (device.get(it, bits.size, "uint16") for it in places[:2])
    half, bf16 = (device.get(it, bits.size, "float32") for it in places[2:])
    assert np.array_equal(half, bits.view(np.float16).astype(np.float32), equal_nan=True)
    assert np.array_equal(bf16, (bits.astype(np.uint32) << 16).view(np.float32), equal_nan=True)
    assert np.array_equal(half_back[~np.isnan(half)], bits[~np.isnan(half)])
    assert np.array_equal(bf16_back[~np.isnan(bf16)], bits[~np.isnan(bf16)])


def test_conversions_round_to_nearest_even(device: Device) -> None:
    random = np.random.default_rng(0)
    x = (random.standard_normal(4096) * 10.0 ** random.integers(-9, 6, 4096)).astype(np.float32)
    ties = np.array([1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 65520, 65519, 2**-25])
    x = np.concatenate([x, ties.astype(np.float32)])
    to_half, to_bf16 = (device.put(np.zeros(x.size, np.uint16)) for _ in range(2))
    device.launch("rounding", to_half, to_bf16, device.put(x), x.size, grid=blocks(x.size))
    with np.errstate(over="ignore"):
        wanted = x.astype(np.float16).view(np.uint16)
    assert np.array_equal(device.get(to_half, x.size, "uint16"), wanted)
    assert np.array_equal(device.get(to_bf16, x.size, "uint16"), bfloat16_bits(x))


def test_float16_arithmetic_rounds_once(device: Device) -> None:
    random = np.random.default_rng(1)
    a, b = (random.standard_normal(256).astype(np.float16) for _ in range(2))
    out = device.put(np.zeros(9 * 256, np.float16))
    device.launch("half_arithmetic", out, device.put(a), device.put(b), 256, grid=blocks(256))
    found = device.get(out, 9 * 256, "float16").reshape(9, 256)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    wanted = [
        wide_a + wide_b, wide_a - wide_b, wide_a * wide_b, wide_a / wide_b, np.maximum(a, b), -a,
        np.abs(a), (wide_a * wide_b + 1).astype(np.float32),
        (wide_a * wide_a + 1).astype(np.float32),
    ]  # fmt: skip
    for row, exact in zip(found, wanted, strict=True):
        assert np.array_equal(row, exact.astype(np.float16))


def test_atomics_of_64_lanes_add_up(device: Device) -> None:
    start = np.zeros(13, np.uint32)
    start[2], start[5], start[10], start[12] = 0xFFFFFFFF, 100, 3, 5
    out, difference = device.put(start), device.put(np.array([10], np.int32))
    device.launch("atomics", out, difference)
    found = device.get(out, 13, "uint32").tolist()
    assert found == [
        64, 0xFFFFFFFF, 0xFFFF0000, 0, 63, 0, 64 % 10, (-64) % 10, 64 * 63 // 2, 3, 7, 5, 6,
    ]  # fmt: skip
    assert device.get(difference, 1, "int32").tolist() == [10 - 128]


def test_lanes_exchange_as_cuda_says(device: Device) -> None:
    out = device.put(np.zeros(8 * 64, np.int32))
    device.launch("lanes", out)
    found = device.get(out, 8 * 64, "int32").reshape(8, 64)
    lane = np.arange(64)
    wanted = [
        np.full(64, 5), np.where(lane < 3, lane, lane - 3), np.where(lane > 60, lane, lane + 3),
        lane ^ 7, np.ones(64), np.ones(64), np.full(64, np.int32(-0x55555556)), (lane ^ 1) + 3000,
    ]  # fmt: skip
    assert np.array_equal(found, np.stack(wanted).astype(np.int32))


def test_integer_functions(device: Device) -> None:
    out = device.put(np.array([77] + [0] * 11, np.int32))
    device.launch("integers", out, -100000, 0xC0000000, grid=(1, 1, 1), block=(1, 1, 1))
    assert device.get(out, 12, "int32").tolist() == [
        32, 4, 2, 2, -1879048192, 0x77441100, 2, -3, 100000, -100000, 77, 20,
    ]  # fmt: skip


def test_arguments_may_be_read_up_to_their_alignment(device: Device) -> None:
    a, b = np.arange(64, dtype=np.int32), np.arange(64, dtype=np.int32)[::-1]
    out = device.put(np.zeros(64, np.int32))
    device.launch("short_segment", out, device.put(a), device.put(b), 3, 5, 7)
    assert np.array_equal(device.get(out, 64, "int32"), (a * 3 + b * 5 + 7)[::-1])
