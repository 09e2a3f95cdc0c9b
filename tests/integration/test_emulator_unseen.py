"""Kernels of kinds that the emulator was not written for give what NumPy computes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from tests.integration.device_code import KERNELS, Device, code_object

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from kernelmill.emulator.arrays import Array

SEED: Final = 7


class Watched(Device):
    """A device that asserts that the sanitizer finds nothing."""

    sanitize = False

    def run(
        self,
        kernel: str,
        *arguments: int | bytes,
        grid: tuple[int, ...] = (1,),
        block: tuple[int, ...] = (64,),
    ) -> None:
        """Launch a kernel."""
        report = self.launch(
            kernel, *arguments, grid=filled(grid), block=filled(block), sanitize=self.sanitize
        )
        assert report.findings == ()


def filled(size: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unseen")


@pytest.fixture(params=["-O3 sanitized", "-O1 sanitized", "-Os", "-O0"])
def device(request: pytest.FixtureRequest, folder: Path) -> Watched:
    level, _, sanitized = request.param.partition(" ")
    made = Watched(code_object(KERNELS / "unseen.hip", folder, level))
    made.sanitize = bool(sanitized)
    return made


def random() -> np.random.Generator:
    return np.random.default_rng(SEED)


def test_histogram_when_workgroups_count_in_lds(device: Watched) -> None:
    values = random().integers(0, 256, 4 * 1000, dtype=np.uint8) // 3
    counts = device.put(np.zeros(256, np.uint32))
    device.run("lds_histogram", device.put(values), counts, 1000, grid=(3,), block=(256,))
    np.testing.assert_array_equal(device.get(counts, 256, "u4"), np.bincount(values, minlength=256))


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (5, 64), (9, 130)])
def test_softmax_when_lanes_reduce_by_dpp(device: Watched, rows: int, cols: int) -> None:
    values = random().normal(0, 8, (rows, cols)).astype(np.float32)
    out = device.put(np.zeros_like(values))
    grid = (-(-rows // 4),)
    device.run("softmax", device.put(values), out, rows, cols, grid=grid, block=(256,))
    powers = np.exp(values.astype(np.float64) - values.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    found = device.get(out, values.size, "f4").reshape(rows, cols)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-30)


def to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def test_attention_when_softmax_is_computed_on_the_way(device: Watched) -> None:
    keys, size, scale = 96, 32, 32**-0.5
    codes = [
        to_bfloat16(random().normal(0, 2, (count, size)).astype(np.float32))
        for count in (32, keys, keys)
    ]
    q, k, v = ((code.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for code in codes)
    out = device.put(np.zeros((32, size), np.float32))
    device.run("attention", *map(device.put, codes), out, keys, struct.pack("<f", scale))
    powers = np.exp(scale * q @ k.T)
    expected = powers / powers.sum(axis=1, keepdims=True) @ v
    found = device.get(out, 32 * size, "f4").reshape(32, size)
    np.testing.assert_allclose(found, expected, atol=2.0**-8 * np.abs(v).max())


def test_byte_products_when_results_are_saturated(device: Watched) -> None:
    rows, words, shift = 16, 300, 12
    a = random().integers(-128, 128, (rows, 4 * words)).astype(np.int8)
    b = random().integers(-128, 128, 4 * words).astype(np.int8)
    out, wide = device.put(np.zeros(rows, np.int8)), device.put(np.zeros(rows, np.uint32))
    device.run(
        "byte_products", device.put(a), device.put(b), out, wide, words, shift,
        grid=(rows,), block=(256,),
    )  # fmt: skip
    product = a.astype(np.int64) @ b.astype(np.int64)
    expected = np.clip((product + (1 << (shift - 1))) >> shift, -128, 127)
    assert len(np.unique(expected)) > 3
    np.testing.assert_array_equal(device.get(out, rows, "i1"), expected)
    plain = a.view(np.uint8).astype(np.uint64) @ b.view(np.uint8).astype(np.uint64)
    np.testing.assert_array_equal(device.get(wide, rows, "u4"), plain)


def test_double_product_when_the_matrix_unit_computes_it(device: Watched) -> None:
    a, b = random().normal(size=(16, 20)), random().normal(size=(20, 16))
    out = device.put(np.zeros((16, 16)))
    device.run("double_product", device.put(a), device.put(b), out, 20)
    np.testing.assert_allclose(device.get(out, 256, "f8").reshape(16, 16), a @ b, rtol=1e-12)


def test_doubles_when_they_are_taken_apart(device: Watched) -> None:
    n = 100
    values = random().normal(0, 100, n)
    out, exponents = device.put(np.zeros(4 * n)), device.put(np.zeros(n, np.int32))
    device.run("doubles", device.put(values), out, exponents, n, grid=(2,))
    found = device.get(out, 4 * n, "f8").reshape(n, 4)
    sums = [sum(values[(i + j) % n] for j in range(i % 7 + 1)) for i in range(n)]
    np.testing.assert_allclose(found[:, 0], sums, rtol=1e-9)
    np.testing.assert_array_equal(found[:, 1], np.floor(values) + np.rint(values) * 1000)
    size = np.abs(values)
    np.testing.assert_allclose(found[:, 2], np.sqrt(size) / (1 + size), rtol=1e-15)
    mantissa, exponent = np.frexp(values)
    np.testing.assert_allclose(found[:, 3], mantissa * 8 + np.trunc(values * 1e6), rtol=1e-15)
    np.testing.assert_array_equal(
        device.get(exponents, n, "i4"), exponent + size.astype(np.uint32) + np.trunc(values)
    )


def test_scan_when_each_workgroup_waits_for_the_one_before(device: Watched) -> None:
    n = 256 * 9 + 17
    values = random().integers(-(2**31), 2**31, n).astype(np.int32)
    out = device.put(np.zeros(n, np.int64))
    groups = -(-n // 256)
    carry, ready = device.put(np.zeros(groups, np.int64)), device.put(np.zeros(groups, np.uint32))
    device.run("scan", device.put(values), out, carry, ready, n, grid=(groups,), block=(256,))
    np.testing.assert_array_equal(device.get(out, n, "i8"), np.cumsum(values.astype(np.int64)))


def test_compact_when_lanes_count_each_other(device: Watched) -> None:
    values = random().normal(size=200).astype(np.float32)
    out, count = device.put(np.zeros(200, np.float32)), device.put(np.zeros(1, np.int32))
    device.run("compact", device.put(values), out, count, 200)
    kept = values[values > 0]
    assert device.get(count, 1, "i4")[0] == len(kept)
    np.testing.assert_array_equal(device.get(out, len(kept), "f4"), kept)


def test_bitonic_sort_when_keys_have_64_bits(device: Watched) -> None:
    values = random().permutation(np.arange(512, dtype=np.uint64) << np.uint64(29))
    keys, places = device.put(values), device.put(np.zeros(512, np.uint16))
    device.run("bitonic", keys, places, block=(256,))
    np.testing.assert_array_equal(device.get(keys, 512, "u8"), np.sort(values))
    np.testing.assert_array_equal(device.get(places, 512, "u2"), np.argsort(values))


def test_mandelbrot_when_every_lane_turns_as_often_as_it_must(device: Watched) -> None:
    width, height, most = 37, 21, 60
    out = device.put(np.zeros((height, width), np.int32))
    device.run("mandelbrot", out, width, height, most, grid=(5, 3), block=(8, 8))
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    point = (3 * x / width - 2) + 1j * (2 * y / height - 1)
    z, turns = np.zeros_like(point), np.zeros(point.shape, np.int32)
    with np.errstate(all="ignore"):
        for _ in range(most):
            inside = np.abs(z) < 2
            turns += inside
            z = np.where(inside, z * z + point, z)
    # float32 on one side, float64 on the other: a point at the border may differ.
    found = device.get(out, turns.size, "i4").reshape(turns.shape)
    assert (found == turns).mean() > 0.97


def test_philox_when_products_have_64_bits(device: Watched) -> None:
    n, key = 128, (0xA4093822, 0x299F31D0)
    out = device.put(np.zeros(4 * n, np.uint32))
    device.run("philox", out, *key, grid=(2,))

    def expected(counter: int) -> list[int]:
        c, (a, b) = [counter, 0, 0, 0], key
        for _ in range(10):
            one, two = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            low = 0xFFFF_FFFF
            c = [two >> 32 ^ c[1] ^ a, two & low, one >> 32 ^ c[3] ^ b, one & low]
            a, b = (a + 0x9E3779B9) & low, (b + 0xBB67AE85) & low
        return c

    found = device.get(out, 4 * n, "u4").reshape(n, 4)
    np.testing.assert_array_equal(found, [expected(i) for i in range(n)])


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


STEPS: Final[tuple[Callable[[int, int], tuple[int, int]], ...]] = (
    lambda a, b: (a + b, b),
    lambda a, b: (a - 3 * b, b),
    lambda a, b: (a, a ^ (b << 1)),
    lambda a, b: (a * b + 7, b),
    lambda a, b: (a, _quotient(a, b | 1)),
    lambda a, b: (b - _quotient(b, (a & 15) + 1) * ((a & 15) + 1), b),
    lambda a, b: (b, a),
    lambda a, b: (a >> 3 | b & 0xFF, b),
    lambda a, b: (a, -b),
    lambda a, b: (~a, b),
)


def wrap(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def test_interpreter_when_lanes_take_different_cases(device: Watched) -> None:
    # Signed overflow is undefined: short programs that stay small.
    code = np.array([0, 2, 6, 0, 4, 7, 8, 9, 2, 5, 1, 6, 3, 4, 0, 8, 2], np.uint8)
    out = device.put(np.zeros(64, np.int32))
    device.run("interpret", device.put(code), out, len(code))

    def expected(lane: int) -> int:
        a, b = lane, 1
        for step in code:
            a, b = map(wrap, STEPS[min(int(step) ^ (lane & 1), 9)](a, b))
        return a ^ b

    np.testing.assert_array_equal(device.get(out, 64, "i4"), [expected(i) for i in range(64)])


def test_recursion_when_structs_are_returned(device: Watched) -> None:
    kind = np.dtype([("first", "i8"), ("second", "f4"), ("third", "u1"), ("", "V3")])
    out = device.put(np.zeros(64, kind))
    device.run("recursion", struct.pack("<qfB3x", 1000, 0.5, 0x55), out)
    numbers = np.array([0, 1, 1, 2, 3, 5, 8, 13, 21, 34])[np.arange(64) % 10]
    found: Array = device.get(out, 64 * kind.itemsize, "u1").view(kind)
    np.testing.assert_array_equal(found["first"], numbers + 1000)
    np.testing.assert_array_equal(found["second"], numbers * 0.5)
    np.testing.assert_array_equal(found["third"], numbers ^ 0x55)


def test_halves_when_two_are_computed_at_a_time(device: Watched) -> None:
    n = 80
    a, b = random().normal(0, 3, (2, n, 2)).astype(np.float16)
    out, dots = device.put(np.zeros(4 * n, np.float16)), device.put(np.zeros(n, np.float32))
    device.run("halves", device.put(a), device.put(b), out, dots, n, grid=(2,))
    found = device.get(out, 4 * n, "f2").reshape(n, 2, 2).astype(np.float64)
    x, y = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_allclose(found[:, 0], x * y + np.maximum(x, y), rtol=2e-3, atol=2e-2)
    np.testing.assert_allclose(found[:, 1, 0], x[:, 1] / y[:, 0], rtol=1e-3)
    np.testing.assert_allclose(found[:, 1, 1], np.sqrt(np.abs(x[:, 0])), rtol=1e-3)
    np.testing.assert_allclose(
        device.get(dots, n, "f4"), (x * y).sum(axis=1) + 0.5, rtol=1e-3, atol=1e-2
    )


def test_functions_when_they_are_elementary(device: Watched) -> None:
    n = 128
    values = random().uniform(-20, 20, n).astype(np.float32)
    out = device.put(np.zeros(12 * n, np.float32))
    device.run("functions", device.put(values), out, n, grid=(2,))
    found = device.get(out, 12 * n, "f4").reshape(n, 12).astype(np.float64)
    x = values.astype(np.float64)
    positive = np.abs(values) + np.float32(0.01)
    wide = positive.astype(np.float64)
    near = {
        0: np.sin(x), 1: np.cos(x), 2: np.exp(x), 3: np.log(wide), 4: np.log2(wide),
        5: np.sqrt(wide), 6: 1 / wide,
    }  # fmt: skip
    for place, expected in near.items():
        np.testing.assert_allclose(found[:, place], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found[:, 7], np.trunc(x) + np.ceil(x) * 10)
    np.testing.assert_array_equal(found[:, 8], np.rint(x))
    np.testing.assert_array_equal(found[:, 9], np.copysign(wide, -x))
    np.testing.assert_array_equal(found[:, 10], (values - np.floor(values)).astype(np.float64))
    np.testing.assert_array_equal(found[:, 11], np.clip(x, -1, 1))


def test_exchanges_when_work_items_change_the_same_words(device: Watched) -> None:
    items = 192
    t = np.arange(items)
    words = device.put(np.array([0, 0xFFFF_FFFF, 5, 0], np.uint32))
    wide, real = device.put(np.zeros(3, np.uint64)), device.put(np.array([0, -1, 0], np.float32))
    reals, signed = device.put(np.zeros(2)), device.put(np.zeros(1, np.int32))
    device.run("exchanges", words, wide, real, reals, signed, block=(items,))
    xor = int(np.bitwise_xor.reduce(t)) ^ 5
    np.testing.assert_array_equal(
        device.get(words, 4, "u4"), [0xFFFF_FFFF, 0, xor, (t * 7 % 64).max()]
    )
    np.testing.assert_array_equal(
        device.get(wide, 3, "u8"), [int(t.sum()) << 30, (items - 1) << 35, (items - 1) << 33]
    )
    np.testing.assert_array_equal(
        device.get(real, 3, "f4"), [0.5 * t.sum(), items - 1, 2.5 * items]
    )
    np.testing.assert_array_equal(device.get(reals, 2, "f8"), [0.25 * t.sum(), 1.5 * items])
    assert device.get(signed, 1, "i4")[0] == -32


def test_convolution_when_its_weights_are_constants(device: Watched) -> None:
    width, height = 37, 20
    image = random().integers(-1000, 1000, (height, width)).astype(np.int16)
    out = device.put(np.zeros((height, width), np.int32))
    device.run("convolve", device.put(image), out, width, height, grid=(3, 2), block=(16, 16))
    weights = np.array([[1, -2, 3], [-4, 5, -6], [7, -8, 9]])
    padded = np.pad(image.astype(np.int64), 1)
    expected = sum(
        weights[dy, dx] * padded[dy : dy + height, dx : dx + width]
        for dy in range(3)
        for dx in range(3)
    )
    np.testing.assert_array_equal(
        device.get(out, width * height, "i4").reshape(height, width), expected
    )
