"""Constants of instructions that take halves: 32 bits, of which a real one fills the low half."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.emulator.bench import Bench


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        pytest.param("v_pk_add_f16 v0, v1, 1.0", 3.0, 5.0, id="real"),
        pytest.param("v_pk_add_f16 v0, v1, 1.0 op_sel_hi:[1,0]", 3.0, 6.0, id="real-twice"),
        pytest.param(
            "v_pk_add_f16 v0, v1, 4.0 op_sel:[0,1] op_sel_hi:[1,0]", 2.0, 9.0, id="real-above"
        ),
        pytest.param("v_pk_mul_f16 v0, v1, -2.0", -4.0, -0.0, id="product"),
        pytest.param("v_pk_fma_f16 v0, v1, v1, -4.0", 0.0, 25.0, id="third"),
        pytest.param("v_pack_b32_f16 v0, v1, -1.0", 2.0, -1.0, id="pack-above"),
        pytest.param("v_pack_b32_f16 v0, 0.5, v1", 0.5, 2.0, id="pack-below"),
    ],
)
def test_real_constant_is_a_half_when_halves_are_taken(text: str, low: float, high: float) -> None:
    bench = Bench()
    bench.put(1, np.array([2.0, 5.0], np.float16).view(np.uint32)[0])
    bench.run(text)
    halves = bench.get(0, "u4").view(np.float16).reshape(-1, 2)
    np.testing.assert_array_equal(halves, np.broadcast_to([low, high], halves.shape))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        pytest.param("v_pk_add_u16 v0, v1, 1", 3, 5, id="positive"),
        pytest.param("v_pk_add_u16 v0, v1, -1", 1, 4, id="negative-fills-both"),
        pytest.param("v_pk_add_u16 v0, v1, 1.0 op_sel:[0,1]", 2 + 0x3F80, 5 + 0x3F80, id="real"),
    ],
)
def test_constant_has_32_bits_when_integers_are_taken(text: str, low: int, high: int) -> None:
    bench = Bench()
    bench.put(1, np.array([2, 5], np.uint16).view(np.uint32)[0])
    bench.run(text)
    halves = bench.get(0, "u4").view(np.uint16).reshape(-1, 2)
    np.testing.assert_array_equal(halves, np.broadcast_to([low, high], halves.shape))
