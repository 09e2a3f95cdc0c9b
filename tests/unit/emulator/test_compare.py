"""Comparisons give one bit for each active lane."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import pytest
from tests.unit.emulator.bench import LANES, Bench

Compare = Callable[[float, float], bool]
INTEGER: Final[dict[str, Compare]] = {
    "f": lambda _a, _b: False, "lt": lambda a, b: a < b, "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b, "t": lambda _a, _b: True,
}  # fmt: skip


def unordered(a: float, b: float) -> bool:
    return math.isnan(a) or math.isnan(b)


REAL: Final[dict[str, Compare]] = {
    "f": lambda _a, _b: False, "lt": lambda a, b: a < b, "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "lg": lambda a, b: not unordered(a, b) and a != b, "ge": lambda a, b: a >= b,
    "o": lambda a, b: not unordered(a, b), "u": unordered,
    "nge": lambda a, b: not a >= b, "nlg": lambda a, b: unordered(a, b) or a == b,
    "ngt": lambda a, b: not a > b, "nle": lambda a, b: not a <= b,
    "neq": lambda a, b: a != b, "nlt": lambda a, b: not a < b, "tru": lambda _a, _b: True,
}  # fmt: skip
KINDS: Final = {"i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8"}


def registers(index: int, width: int) -> str:
    return f"v[{index}:{index + 1}]" if width == 64 else f"v{index}"


def put(bench: Bench, index: int, values: np.ndarray[tuple[int, ...], np.dtype[np.number]]) -> None:
    if values.dtype.itemsize == 2:
        bench.put(index, values.view(np.uint16).astype(np.uint32))
    else:
        bench.put(index, values)


def expected_mask(compute: Compare, a: object, b: object) -> int:
    pairs = zip(np.array(a)[0].tolist(), np.array(b)[0].tolist(), strict=True)
    return sum(1 << lane for lane, pair in enumerate(pairs) if compute(*pair))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", INTEGER)
def test_integers_are_compared(name: str, kind: str) -> None:
    dtype = np.dtype(KINDS[kind])
    limits = np.iinfo(dtype)
    random = np.random.default_rng(1)
    a, b = random.integers(limits.min, limits.max, (2, 2, LANES), dtype=dtype)
    b[:, ::3] = a[:, ::3]
    bench, width = Bench(), dtype.itemsize * 8
    put(bench, 10, a)
    put(bench, 12, b)
    bench.run(f"v_cmp_{name}_{kind}_e64 s[20:21], {registers(10, width)}, {registers(12, width)}")
    assert bench.get_scalar(20, words=2) == expected_mask(INTEGER[name], a, b)


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("name", REAL)
def test_reals_are_compared_when_some_are_nan(name: str, width: int) -> None:
    special = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0)
    pairs = [(a, b) for a in special for b in special]
    a, b = (np.array([[pair[i] for pair in pairs]] * 2, f"f{width // 8}") for i in (0, 1))
    bench = Bench()
    put(bench, 10, a)
    put(bench, 12, b)
    bench.run(f"v_cmp_{name}_f{width}_e32 vcc, {registers(10, width)}, {registers(12, width)}")
    assert bench.get_scalar(106, words=2) == expected_mask(REAL[name], a, b)


def test_inactive_lanes_give_zero_and_exec_follows_cmpx() -> None:
    bench, active = Bench(), 0xFFFF_0000_FF00_00FF
    bench.put(10, np.arange(LANES, dtype=np.uint32))
    bench.set_exec(active)
    bench.run("v_cmp_gt_u32_e32 vcc, 50, v10")
    below_50 = (1 << 50) - 1
    assert bench.get_scalar(106, words=2) == below_50 & active
    bench.run("v_cmpx_gt_u32_e32 vcc, 50, v10")
    assert bench.get_scalar(126, words=2) == below_50 & active
