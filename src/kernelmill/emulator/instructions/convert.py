"""Conversions between number types, FP8 among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator import fp8
from kernelmill.emulator.instructions.integers import byte_of
from kernelmill.emulator.vector import Compute, Vector, vop

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array, Integer

U16, U32 = np.uint16, np.uint32
HALF: Final = U32(0xFFFF)


def to_integer(dtype: type[Integer], rounding: Compute = np.trunc) -> Compute:
    """Return a conversion that rounds, keeps within ``dtype``, and takes NaN for 0."""
    limits = np.iinfo(dtype)

    def compute(a: Array) -> Array:
        whole = np.nan_to_num(rounding(a.astype(np.float64)), nan=0.0)
        return np.asarray(np.clip(whole, float(limits.min), float(limits.max)).astype(dtype))

    return compute


def cast(dtype: type[np.generic]) -> Compute:
    """Return a conversion to the nearest number of ``dtype``."""
    return lambda a: np.asarray(a.astype(dtype))


def _byte_to_float(place: int) -> Compute:
    return lambda a: byte_of(a, place).astype(np.float32)


def _normalised(dtype: type[Integer]) -> Compute:
    """Scale -1..1 (or 0..1) to all of an integer type."""
    limits = np.iinfo(dtype)
    low = -limits.max if limits.min else 0

    def compute(a: Array) -> Array:
        scaled = np.rint(np.nan_to_num(a.astype(np.float64), nan=0.0) * limits.max)
        return np.asarray(np.clip(scaled, low, limits.max).astype(dtype))

    return compute


def pack_halves(low: Array, high: Array) -> Array:
    """Join two 16-bit values of any type to a word."""
    first = np.ascontiguousarray(low).view(U16).astype(U32)
    return first | (np.ascontiguousarray(high).view(U16).astype(U32) << U32(16))


def _pack(convert: Compute) -> Compute:
    return lambda a, b: pack_halves(convert(a), convert(b))


def half_toward_zero(a: Array) -> Array:
    """Round float32 to float16 toward zero."""
    found = a.astype(np.float16)
    over = np.abs(found.astype(np.float32)) > np.abs(a)
    bits = found.view(U16)
    return np.where(over & ~np.isinf(a), bits - U16(1), bits).view(np.float16)


def _nearest_up(a: Array) -> Array:
    return np.floor(a + 0.5)


def _offset_i4(a: Array) -> Array:
    """Four bits, signed, as sixteenths."""
    nibble = (a << U32(28)).view(np.int32) >> np.int32(28)
    return nibble.astype(np.float32) / np.float32(16)


def _insert_byte(a: Array, place: Array, old: Array) -> Array:
    value = to_integer(np.uint8, np.rint)(a).astype(U32)
    shift = (place & U32(3)) * U32(8)
    result: Array = (old & ~(U32(0xFF) << shift)) | (value << shift)
    return result


def _plain() -> dict[str, Vector]:
    return {
        "v_cvt_i32_f64": vop("i32 f64", to_integer(np.int32)),
        "v_cvt_u32_f64": vop("u32 f64", to_integer(np.uint32)),
        "v_cvt_i32_f32": vop("i32 f32", to_integer(np.int32)),
        "v_cvt_u32_f32": vop("u32 f32", to_integer(np.uint32)),
        "v_cvt_i16_f16": vop("i16 f16", to_integer(np.int16)),
        "v_cvt_u16_f16": vop("u16 f16", to_integer(np.uint16)),
        "v_cvt_rpi_i32_f32": vop("i32 f32", to_integer(np.int32, _nearest_up)),
        "v_cvt_flr_i32_f32": vop("i32 f32", to_integer(np.int32, np.floor)),
        "v_cvt_f64_i32": vop("f64 i32", cast(np.float64)),
        "v_cvt_f64_u32": vop("f64 u32", cast(np.float64)),
        "v_cvt_f64_f32": vop("f64 f32", cast(np.float64)),
        "v_cvt_f32_i32": vop("f32 i32", cast(np.float32)),
        "v_cvt_f32_u32": vop("f32 u32", cast(np.float32)),
        "v_cvt_f32_f64": vop("f32 f64", cast(np.float32)),
        "v_cvt_f32_f16": vop("f32 f16", cast(np.float32)),
        "v_cvt_f16_f32": vop("f16 f32", cast(np.float16)),
        "v_cvt_f16_u16": vop("f16 u16", cast(np.float16)),
        "v_cvt_f16_i16": vop("f16 i16", cast(np.float16)),
        "v_cvt_off_f32_i4": vop("f32 u32", _offset_i4),
        **{f"v_cvt_f32_ubyte{i}": vop("f32 u32", _byte_to_float(i)) for i in range(4)},
    }


def _normal() -> dict[str, Vector]:
    return {
        "v_cvt_norm_i16_f16": vop("i16 f16", _normalised(np.int16)),
        "v_cvt_norm_u16_f16": vop("u16 f16", _normalised(np.uint16)),
        "v_cvt_pknorm_i16_f32": vop("b32 f32 f32", _pack(_normalised(np.int16))),
        "v_cvt_pknorm_u16_f32": vop("b32 f32 f32", _pack(_normalised(np.uint16))),
        "v_cvt_pknorm_i16_f16": vop("b32 f16 f16", _pack(_normalised(np.int16))),
        "v_cvt_pknorm_u16_f16": vop("b32 f16 f16", _pack(_normalised(np.uint16))),
        "v_cvt_pkrtz_f16_f32": vop("b32 f32 f32", _pack(half_toward_zero)),
        "v_cvt_pk_u8_f32": vop("b32 f32 u32 u32", _insert_byte),
        "v_cvt_pkaccum_u8_f32": vop("b32 f32 u32", _insert_byte, keeps=True),
    }


TABLE: Final[dict[str, Vector]] = {**_plain(), **_normal()}
FP8_FORMATS: Final = {"fp8": fp8.E4M3FNUZ, "bf8": fp8.E5M2FNUZ}
