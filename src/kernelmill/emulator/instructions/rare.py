"""Instructions that few kernels use: cube maps, trigonometry's reduction, sums of differences."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.instructions.carries import division_fixup
from kernelmill.emulator.instructions.integers import sum_differences
from kernelmill.emulator.sources import bind_source, vector_index
from kernelmill.emulator.vector import Binder, Compute, Vector, vop

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.program import Decoded, Layout, Operation
    from kernelmill.emulator.registers import Waves

U32, U64 = np.uint32, np.uint64
TWO_OVER_PI_BITS: Final = 1201
SEGMENT: Final = 53
"""Bits of 2/pi that one ``v_trig_preop_f64`` gives."""


def _major_axis(x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    is_z = (np.abs(z) >= np.abs(x)) & (np.abs(z) >= np.abs(y))
    return is_z, ~is_z & (np.abs(y) >= np.abs(x))


def _cube_face(x: Array, y: Array, z: Array) -> Array:
    is_z, is_y = _major_axis(x, y, z)
    one = np.float32(1)
    face = np.where(x < 0, one, np.float32(0))
    face = np.where(is_y, np.where(y < 0, 3 * one, 2 * one), face)
    return np.where(is_z, np.where(z < 0, 5 * one, 4 * one), face)


def _cube_s(x: Array, y: Array, z: Array) -> Array:
    is_z, is_y = _major_axis(x, y, z)
    return np.where(is_z, np.where(z < 0, -x, x), np.where(is_y, x, np.where(x < 0, z, -z)))


def _cube_t(x: Array, y: Array, z: Array) -> Array:
    is_z, is_y = _major_axis(x, y, z)
    return np.where(~is_z & is_y, np.where(y < 0, -z, z), -y)


def _cube_major(x: Array, y: Array, z: Array) -> Array:
    is_z, is_y = _major_axis(x, y, z)
    return np.float32(2) * np.where(is_z, z, np.where(is_y, y, x))


@cache
def _two_over_pi() -> int:
    """Return 2 / pi as a whole number of ``TWO_OVER_PI_BITS`` fraction bits."""
    extra = 64
    one = 1 << (TWO_OVER_PI_BITS + extra)

    def arctangent_of_inverse(n: int) -> int:
        term = total = one // n
        divisor, sign = 3, -1
        while term:
            term //= n * n
            total += sign * (term // divisor)
            divisor, sign = divisor + 2, -sign
        return total

    pi = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))  # Machin's formula
    return (2 * one * one // pi) >> extra


def _reduction_segment(value: Array, select: Array) -> Array:
    """Return 53 bits of 2/pi, chosen by the exponent of ``value`` and a segment number."""
    value, select = np.broadcast_arrays(value, select)
    exponent = ((value.view(U64) >> U64(52)) & U64(0x7FF)).astype(np.int64)
    shift = (select & U32(31)).astype(np.int64) * SEGMENT + np.maximum(exponent - 1077, 0)
    result = np.zeros(value.shape)
    for amount in np.unique(shift):
        moved = (_two_over_pi() << int(amount)) & ((1 << TWO_OVER_PI_BITS) - 1)
        segment = float(moved >> (TWO_OVER_PI_BITS - SEGMENT))
        result[shift == amount] = segment
    scale = -SEGMENT - shift + np.where(exponent >= 1968, 128, 0)
    return np.ldexp(result, scale.astype(np.int32))


def _sliding(value: Array, place: int) -> Array:
    """Return four bytes of a 64-bit value, from byte ``place`` on."""
    return (value >> U64(8 * place)).astype(U32)


def _packed_differences(*, masked: bool) -> Compute:
    def compute(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), U64)
        for place in range(4):
            total = sum_differences(_sliding(a, place), b, masked=masked)
            old = (c >> U64(16 * place)).astype(U32) & U32(0xFFFF)
            # The sums saturate at 16 bits.
            result |= np.minimum(total + old, U32(0xFFFF)).astype(U64) << U64(16 * place)
        return result

    return compute


def _bind_wide_differences(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``v_mqsad_u32_u8``: four sums, each added to a word of the third source."""
    target, one, other, addend = decoded.operands
    index = vector_index(target, layout, decoded)
    first = bind_source(one, "u64", layout, decoded)
    second = bind_source(other, "u32", layout, decoded)
    third = None if addend.is_constant else vector_index(addend, layout, decoded)
    fixed = U32(int(addend.value)) if addend.is_constant else U32(0)

    def run(w: Waves) -> None:
        a, b = first(w), second(w)
        old = [fixed if third is None else w.word(third + place).copy() for place in range(4)]
        for place in range(4):
            w.put(index + place, sum_differences(_sliding(a, place), b, masked=True) + old[place])

    return run


def _fixup_table() -> dict[str, Vector]:
    return {
        f"v_div_fixup_{name}": vop(f"{kind} {kind} {kind} {kind}", division_fixup, keeps_high=keeps)
        for name, kind, keeps in (
            ("f16", "f16", True), ("legacy_f16", "f16", False),
            ("f32", "f32", False), ("f64", "f64", False),
        )
    }  # fmt: skip


def _differences_table() -> dict[str, Vector]:
    plain, masked = _packed_differences(masked=False), _packed_differences(masked=True)
    return {
        "v_qsad_pk_u16_u8": vop("u64 u64 u32 u64", plain),
        "v_mqsad_pk_u16_u8": vop("u64 u64 u32 u64", masked),
    }


TABLE: Final[dict[str, Vector]] = {
    **_fixup_table(),
    **_differences_table(),
    "v_cubeid_f32": vop("f32 f32 f32 f32", _cube_face),
    "v_cubesc_f32": vop("f32 f32 f32 f32", _cube_s),
    "v_cubetc_f32": vop("f32 f32 f32 f32", _cube_t),
    "v_cubema_f32": vop("f32 f32 f32 f32", _cube_major),
    "v_trig_preop_f64": vop("f64 f64 u32", _reduction_segment),
}
BINDERS: Final[dict[str, Binder]] = {"v_mqsad_u32_u8": _bind_wide_differences}
