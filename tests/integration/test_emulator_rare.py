"""Kernels that use clang's builtins for what is seldom used give what NumPy computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from tests.integration.device_code import KERNELS, Device, code_object

from kernelmill.emulator.fp8 import E4M3FNUZ, E5M2FNUZ

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

LANE: Final = np.arange(64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rare")


@pytest.fixture(params=["-O3", "-O0"])
def device(request: pytest.FixtureRequest, folder: Path) -> Device:
    return Device(code_object(KERNELS / "rare.hip", folder, request.param))


def random() -> np.random.Generator:
    return np.random.default_rng(11)


def test_buffers_are_bounded_when_the_grid_is_larger(device: Device) -> None:
    n = 100
    values = random().random(128, dtype=np.float32)
    given, out = device.put(values), device.put(np.full(128, -1, np.float32))
    report = device.launch("bounded", given, out, n, grid=(2, 1, 1), sanitize=True)
    assert report.findings == ()
    expected = np.where(np.arange(128) < n, values + 1, np.float32(-1))
    np.testing.assert_array_equal(device.get(out, 128, "f4"), expected)


def test_loads_reach_lds_when_they_pass_the_registers(device: Device) -> None:
    values = random().integers(0, 1000, 64).astype(np.int32)
    out = device.put(np.zeros(64, np.int32))
    device.launch("past_registers", device.put(values), out)
    np.testing.assert_array_equal(device.get(out, 64, "i4"), values[63 - (LANE ^ 5)])


def as_bytes(words: NDArray[np.uint32]) -> NDArray[np.int64]:
    return words.view(np.uint8).reshape(-1, 4).astype(np.int64)


def joined(octets: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray((octets << (8 * np.arange(4))).sum(axis=1), np.int64)


def test_bits_are_put_together_when_they_come_from_two_words(device: Device) -> None:
    x, y = random().integers(0, 2**32, (2, 64), dtype=np.uint32)
    y[::5] &= 0xFFFF00FF
    out = device.put(np.zeros(12 * 64, np.uint32))
    device.launch("bits", device.put(x), device.put(y), out)
    found = device.get(out, 12 * 64, "u4").reshape(64, 12).astype(np.int64)
    a, b = x.astype(object), y.astype(object)
    both = [int(p) << 32 | int(q) for p, q in zip(a, b, strict=True)]
    low = 0xFFFF_FFFF
    xb, yb = as_bytes(x), as_bytes(y)
    turned = [
        (int(p) << (int(q) & 31) | int(p) >> (-int(q) & 31)) & low
        for p, q in zip(a, b, strict=True)
    ]
    expected = [
        joined(np.stack((xb[:, 1], xb[:, 0], yb[:, 1], xb[:, 2]), axis=1)),
        [value >> 8 & low for value in both],
        [value >> 13 & low for value in both],
        x >> 5 & 0x7FF,
        [((int(p) >> 3 & 0x1FF) ^ 0x100) - 0x100 & low for p in a],
        abs(xb - yb).sum(axis=1) + 7,
        np.where(yb != 0, abs(xb - yb), 0).sum(axis=1) + 3,
        [int(f"{int(p):032b}"[::-1], 2) for p in a],
        joined((xb + yb + 1) >> 1),
        (y & 0xFF00FFFF) | (x & 255) << 16,
        [((int(p) * int(q) >> 32) + r) & low for p, q, r in zip(a, b, turned, strict=True)],
        [
            (int(p & 0xFFFFFF) * int(q & 0xFFFFFF) + 32 - int(p | 1).bit_length()
             + (int(q | 1 << 31) & -int(q | 1 << 31)).bit_length() - 1) & low
            for p, q in zip(a, b, strict=True)
        ],
    ]  # fmt: skip
    for place, column in enumerate(expected):
        np.testing.assert_array_equal(found[:, place], np.asarray(column, np.int64), f"[{place}]")


def test_lanes_get_values_of_others_when_they_ask(device: Device) -> None:
    x = random().integers(-1000, 1000, 64).astype(np.int32)
    out = device.put(np.zeros(640, np.int32))
    device.launch("lanes", device.put(x), out)
    found = device.get(out, 640, "i4").reshape(64, 10)
    row, place = LANE // 16 * 16, LANE % 16
    pushed = np.empty_like(x)
    pushed[(LANE + 7) % 64] = x
    expected = [
        x[LANE ^ 1],
        x[LANE ^ 1],
        x[LANE ^ 7],
        x[LANE ^ 15],
        x[row + (place - 1) % 16],
        np.concatenate(([-1], x[:-1])),
        pushed,
        x[LANE * 5 % 64],
        np.full(64, x[0] + x[17]),
        np.where((LANE // 16 % 2 == 0) & (place < 8), x[LANE ^ 3], 0),
    ]
    for number, column in enumerate(expected):
        np.testing.assert_array_equal(found[:, number], column, f"[{number}]")


def test_half_tile_when_multiplied(device: Device) -> None:
    a, b = random().normal(size=(2, 16, 16)).astype(np.float16)
    lanes = [x.reshape(16, 4, 4).transpose(1, 0, 2) for x in (a, b)]
    out = device.put(np.zeros(256, np.float32))
    device.launch("half_tile", device.put(lanes[0]), device.put(lanes[1]), out)
    found = device.get(out, 256, "f4").reshape(4, 16, 4).transpose(0, 2, 1).reshape(16, 16)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(found, expected, atol=1e-4)


def wide_tile(registers: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the 32 x 32 of a matrix instruction's result [lane, register]."""
    parted = registers.reshape(2, 32, 4, 4)  # half of the wave, column, group of 8 rows, row
    return parted.transpose(2, 0, 3, 1).reshape(32, 32)


def test_byte_tile_when_multiplied(device: Device) -> None:
    a, b = random().integers(-128, 128, (2, 32, 16)).astype(np.int8)
    lanes = [x.reshape(32, 2, 8).transpose(1, 0, 2) for x in (a, b)]
    out = device.put(np.zeros(1024, np.int32))
    device.launch("byte_tile", device.put(lanes[0]), device.put(lanes[1]), out)
    expected = a.astype(np.int64) @ b.astype(np.int64).T
    np.testing.assert_array_equal(wide_tile(device.get(out, 1024, "i4")), expected)


def test_float_tile_when_multiplied(device: Device) -> None:
    a, b = random().normal(size=(2, 32, 2)).astype(np.float32)
    out = device.put(np.zeros(1024, np.float32))
    device.launch("float_tile", device.put(a.T), device.put(b.T), out)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(
        wide_tile(device.get(out, 1024, "f4")).astype(np.float64), expected, atol=1e-5
    )


def test_small_tiles_when_multiplied(device: Device) -> None:
    a, b = random().normal(size=(2, 16, 4)).astype(np.float32)
    out = device.put(np.zeros(256, np.float32))
    device.launch("small_tiles", device.put(a), device.put(b), out)
    found = device.get(out, 256, "f4").reshape(16, 4, 4).transpose(0, 2, 1)
    np.testing.assert_allclose(found, a[:, :, None] * b[:, None, :], rtol=1e-6)


def test_pairs_are_added_when_atomics_take_two_at_once(device: Device) -> None:
    halves, bfloats = device.put(np.zeros(8, np.float16)), device.put(np.zeros(4, np.uint16))
    wide = device.put(np.array([7.5]))
    device.launch("pairs", halves, bfloats, wide)
    sums = [[LANE[place == LANE % 4].sum(), -16] for place in range(4)]
    np.testing.assert_array_equal(device.get(halves, 8, "f2").reshape(4, 2), sums)
    found = (device.get(bfloats, 4, "u2").astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(found, [32, 64, 32, 64])
    assert device.get(wide, 1, "f8")[0] == 63


def nearest(table: NDArray[np.float32], values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return how far the nearest finite number of a format is from each of ``values``."""
    finite = table[np.isfinite(table)].astype(np.float64)
    gaps = np.abs(finite[None] - values.astype(np.float64)[:, None])
    return np.asarray(gaps.min(axis=1), np.float64)


def test_fp8_is_near_when_it_is_rounded(device: Device) -> None:
    values = random().normal(0, 20, 64).astype(np.float32)
    noise = random().integers(-(2**31), 2**31, 64).astype(np.int32)
    out = device.put(np.zeros(128, np.int32))
    device.launch("rounding", device.put(values), device.put(noise), out)
    octets = device.get(out, 512, "u1").reshape(64, 8)
    for place, table, exact in (
        (0, E4M3FNUZ.table, values),
        (1, E4M3FNUZ.table, -values),
        (2, E5M2FNUZ.table, values),
        (3, E5M2FNUZ.table, 2 * values),
    ):
        error = np.abs(table[octets[:, place]].astype(np.float64) - exact.astype(np.float64))
        np.testing.assert_array_equal(error, nearest(table, exact))
    finite = np.sort(E4M3FNUZ.table[np.isfinite(E4M3FNUZ.table)].astype(np.float64))
    above = np.searchsorted(finite, values.astype(np.float64))
    drawn = E4M3FNUZ.table[octets[:, 5]].astype(np.float64)
    is_above = drawn == finite[above]
    assert (is_above | (drawn == finite[above - 1])).all(), "a neighbour, above or below"
    assert 10 < is_above.sum() < 54


def test_pointers_are_called_when_lanes_choose_functions(device: Device) -> None:
    values = random().integers(-50, 50, 64).astype(np.int32)
    out, most = device.put(np.zeros(64, np.int32)), 12
    device.launch("pointers", device.put(values), out, most)

    def expected(lane: int) -> int:
        x = int(values[lane])
        for turn in range(most):
            if (x + turn) % 5 == 0:
                continue
            y = (2 * x, x * x, -x)[(lane + turn) % 3]
            x = abs(y) % 1000 * (1 if y >= 0 else -1)
            if x == 1:
                break
        return x

    np.testing.assert_array_equal(device.get(out, 64, "i4"), [expected(lane) for lane in range(64)])


def test_memory_of_the_launch_is_used_when_it_is_dynamic(device: Device) -> None:
    n = 200
    out = device.put(np.zeros(192, np.int32))
    device.launch("dynamic", out, n, grid=(2, 1, 1), block=(96, 1, 1), dynamic_lds_bytes=4 * n)
    np.testing.assert_array_equal(device.get(out, 192, "i4"), (np.arange(n) ** 2).sum())


def test_constants_of_halves_are_halves_when_packed(device: Device) -> None:
    x = random().normal(0, 4, (64, 2)).astype(np.float16)
    out = device.put(np.zeros((64, 16), np.float16))
    device.launch("constants", device.put(x), out)
    found = device.get(out, 64 * 16, "f2").reshape(64, 8, 2)
    half, ones = np.float16, np.ones(64, np.float16)
    fused = (x.astype(np.float64) ** 2 + [-4, 0]).astype(half)
    expected = [
        x + np.array([1, 0], half),
        x * np.array([2, -0.5], half),
        x + np.array([0, 4], half),
        fused,
        np.stack((x[:, 0], -ones), axis=1),
        np.stack((ones / 2, x[:, 1]), axis=1),
        x * half(0.1),
        np.stack((x[:, 0] * half(4), x[:, 1] - half(2)), axis=1),
    ]
    for place, column in enumerate(expected):
        np.testing.assert_array_equal(found[:, place], column, f"[{place}]")


def test_constants_of_shorts_are_integers_when_packed(device: Device) -> None:
    x = random().integers(-(2**15), 2**15, (64, 2)).astype(np.int16)
    out = device.put(np.zeros((64, 12), np.int16))
    device.launch("short_constants", device.put(x), out)
    found = device.get(out, 64 * 12, "i2").reshape(64, 6, 2)
    expected = [
        x + np.array([1, 0], np.int16),
        -x,
        x - np.array([0, 64], np.int16),
        x << np.int16(3),
        np.maximum(x, np.int16(-7)),
        x + np.int16(0x3F80),
    ]
    for place, column in enumerate(expected):
        np.testing.assert_array_equal(found[:, place], column, f"[{place}]")
