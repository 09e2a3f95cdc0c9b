"""Vector integer and bit instructions.

Source of what each does: AMD's "Instinct MI300 Instruction Set Architecture", chapter 12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.bits import bit_reverse, find_last, find_sign_change, lowest_bit
from kernelmill.emulator.vector import Compute, Vector, vop

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array, Integer

U8, U16, U32, U64 = np.uint8, np.uint16, np.uint32, np.uint64
I16, I32, I64 = np.int16, np.int32, np.int64
BYTE: Final = U32(0xFF)
HALF: Final = U32(0xFFFF)
LOW_24: Final = U32(0xFF_FFFF)


def _saturate(function: np.ufunc, dtype: type[Integer]) -> Compute:
    limits = np.iinfo(dtype)

    def compute(a: Array, b: Array) -> Array:
        total = function(a.astype(I64), b.astype(I64))
        return np.asarray(np.clip(total, limits.min, limits.max).astype(dtype))

    return compute


def _reversed(compute: Compute) -> Compute:
    return lambda a, b: compute(b, a)


def signed_24(a: Array) -> Array:
    """Return the low 24 bits, sign-extended: int32."""
    return (a << U32(8)).view(I32) >> I32(8)


def _high(function: Compute, dtype: type[Integer]) -> Compute:
    return lambda a, b: (function(a.astype(dtype), b.astype(dtype)) >> dtype(32)).astype(U32)


def _shift(function: np.ufunc) -> Compute:
    """Return a shift of the second source by the first, as the ``rev`` instructions do."""

    def compute(amount: Array, value: Array) -> Array:
        limit = amount.dtype.type(value.dtype.itemsize * 8 - 1)
        return np.asarray(function(value, (amount & limit).astype(value.dtype)))

    return compute


def _field(a: Array, offset: Array, width: Array) -> Array:
    offset, width = offset & U32(31), width & U32(31)
    result: Array = (a >> offset) & ((U32(1) << width) - U32(1))
    return result


def _signed_field(a: Array, offset: Array, width: Array) -> Array:
    offset, width = offset & U32(31), width & U32(31)
    kept = np.minimum(width, U32(32) - offset)
    away = (U32(32) - kept) & U32(31)
    found = ((a >> offset) << away).view(I32) >> away.view(I32)
    return np.where(width == 0, I32(0), found)


def permute_bytes(high: Array, low: Array, selector: Array) -> Array:
    """Pick four bytes out of eight (``low`` holds bytes 0 to 3); 8 and up are constants."""
    joined = (high.astype(U64) << U64(32)) | low
    result: Array = np.zeros(np.broadcast_shapes(high.shape, low.shape, selector.shape), U32)
    for place in range(4):
        choice = (selector >> U32(8 * place)) & BYTE
        picked = (joined >> ((choice & U32(7)) * U32(8)).astype(U64)).astype(U32) & BYTE
        # 8 to 11: the sign of bytes 1, 3, 5, 7, spread over a byte. 12: zero. 13 and up: ones.
        sign_of = (U32(2) * (choice & U32(3)) + U32(1)) * U32(8) + U32(7)
        sign = ((joined >> sign_of.astype(U64)) & U64(1)).astype(U32) * BYTE
        fixed = np.where(choice < 12, sign, np.where(choice == 12, U32(0), BYTE))
        result = result | (np.where(choice < 8, picked, fixed) << U32(8 * place))
    return np.asarray(result)


def _align(unit: int) -> Compute:
    limit = U32(32 // unit - 1)

    def compute(high: Array, low: Array, amount: Array) -> Array:
        joined = (high.astype(U64) << U64(32)) | low
        return (joined >> ((amount & limit) * U32(unit)).astype(U64)).astype(U32)

    return compute


def byte_of(word: Array, place: int) -> Array:
    """Return byte ``place`` of a word: uint32."""
    return (word >> U32(8 * place)) & BYTE


def _difference(a: Array, b: Array) -> Array:
    return np.where(a > b, a - b, b - a)


def sum_differences(a: Array, b: Array, *, masked: bool = False) -> Array:
    """Return the sum of the differences of four bytes; ``masked`` leaves out where b is 0."""
    total: Array = np.zeros(np.broadcast_shapes(a.shape, b.shape), U32)
    for place in range(4):
        one, other = byte_of(a, place), byte_of(b, place)
        found = _difference(one, other)
        total = total + (np.where(other == 0, U32(0), found) if masked else found)
    return np.asarray(total)


def _sad_u16(a: Array, b: Array, c: Array) -> Array:
    low = _difference(a & HALF, b & HALF)
    return low + _difference(a >> U32(16), b >> U32(16)) + c


def _lerp(a: Array, b: Array, c: Array) -> Array:
    result: Array = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), U32)
    for place in range(4):
        total = byte_of(a, place) + byte_of(b, place) + (byte_of(c, place) & U32(1))
        result = result | (total >> U32(1)) << U32(8 * place)
    return np.asarray(result)


def _median(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _pack_saturated(low: int, high: int) -> Compute:
    def compute(a: Array, b: Array) -> Array:
        first = np.clip(a.astype(I64), low, high).astype(U32) & HALF
        return first | ((np.clip(b.astype(I64), low, high).astype(U32) & HALF) << U32(16))

    return compute


def _saturated_pack_bytes(a: Array) -> Array:
    """Clamp two int16 to a byte each: the result is in 16 bits."""
    low = np.clip((a & HALF).astype(U16).view(I16), 0, 255).astype(U16)
    high = np.clip((a >> U32(16)).astype(U16).view(I16), 0, 255).astype(U16)
    return low | (high << U16(8))


def _min_max() -> dict[str, Vector]:
    table: dict[str, Vector] = {}
    for kind in ("i32", "u32", "i16", "u16"):
        two, three = f"{kind} {kind} {kind}", f"{kind} {kind} {kind} {kind}"
        table |= {
            f"v_min_{kind}": vop(two, np.minimum),
            f"v_max_{kind}": vop(two, np.maximum),
            f"v_min3_{kind}": vop(
                three, lambda a, b, c: np.minimum(np.minimum(a, b), c), keeps_high=True
            ),
            f"v_max3_{kind}": vop(
                three, lambda a, b, c: np.maximum(np.maximum(a, b), c), keeps_high=True
            ),
            f"v_med3_{kind}": vop(three, _median, keeps_high=True),
        }
    return table


def _sums() -> dict[str, Vector]:
    table: dict[str, Vector] = {}
    for kind, dtype in (("u32", U32), ("u16", U16)):
        two = f"{kind} {kind} {kind}"
        add, subtract = _saturate(np.add, dtype), _saturate(np.subtract, dtype)
        table |= {
            f"v_add_{kind}": vop(two, np.add, saturated=add),
            f"v_sub_{kind}": vop(two, np.subtract, saturated=subtract),
            f"v_subrev_{kind}": vop(two, _reversed(np.subtract), saturated=_reversed(subtract)),
        }
    for kind, signed in (("i32", I32), ("i16", I16)):
        two = f"{kind} {kind} {kind}"
        table |= {
            f"v_add_{kind}": vop(two, np.add, saturated=_saturate(np.add, signed)),
            f"v_sub_{kind}": vop(two, np.subtract, saturated=_saturate(np.subtract, signed)),
        }
    return table


def _clamp_to(dtype: type[Integer], compute: Compute) -> Compute:
    limits = np.iinfo(dtype)
    return lambda *values: np.clip(
        compute(*(value.astype(I64) for value in values)), limits.min, limits.max
    ).astype(dtype)


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def _products() -> dict[str, Vector]:
    return {
        "v_mul_lo_u32": vop("u32 u32 u32", np.multiply),
        "v_mul_hi_u32": vop("u32 u32 u32", _high(np.multiply, U64)),
        "v_mul_hi_i32": vop("u32 i32 i32", _high(np.multiply, I64)),
        "v_mul_lo_u16": vop("u16 u16 u16", np.multiply),
        "v_mul_u32_u24": vop("u32 u32 u32", lambda a, b: (a & LOW_24) * (b & LOW_24)),
        "v_mul_i32_i24": vop("i32 u32 u32", lambda a, b: signed_24(a) * signed_24(b)),
        "v_mul_hi_u32_u24": vop(
            "u32 u32 u32", lambda a, b: _high(np.multiply, U64)(a & LOW_24, b & LOW_24)
        ),
        "v_mul_hi_i32_i24": vop(
            "u32 u32 u32", lambda a, b: _high(np.multiply, I64)(signed_24(a), signed_24(b))
        ),
        "v_mad_u32_u24": vop(
            "u32 u32 u32 u32",
            lambda a, b, c: (a & LOW_24) * (b & LOW_24) + c,
            saturated=_clamp_to(
                U32, lambda a, b, c: (a & I64(0xFF_FFFF)) * (b & I64(0xFF_FFFF)) + c
            ),
        ),
        "v_mad_i32_i24": vop(
            "i32 u32 u32 i32",
            lambda a, b, c: signed_24(a) * signed_24(b) + c,
            saturated=lambda a, b, c: _clamp_to(I32, _multiply_add)(
                signed_24(a), signed_24(b), c
            ),
        ),
        "v_mad_u32_u16": vop(
            "u32 u16 u16 u32", lambda a, b, c: a.astype(U32) * b.astype(U32) + c
        ),
        "v_mad_i32_i16": vop(
            "i32 i16 i16 i32", lambda a, b, c: a.astype(I32) * b.astype(I32) + c
        ),
        "v_mad_u16": vop(
            "u16 u16 u16 u16", _multiply_add, keeps_high=True,
            saturated=_clamp_to(U16, _multiply_add),
        ),
        "v_mad_i16": vop(
            "i16 i16 i16 i16", _multiply_add, keeps_high=True,
            saturated=_clamp_to(I16, _multiply_add),
        ),
        "v_mad_legacy_u16": vop("u16 u16 u16 u16", _multiply_add),
        "v_mad_legacy_i16": vop("i16 i16 i16 i16", _multiply_add),
    }  # fmt: skip


def _shifts() -> dict[str, Vector]:
    return {
        "v_lshlrev_b32": vop("b32 b32 b32", _shift(np.left_shift)),
        "v_lshrrev_b32": vop("b32 b32 b32", _shift(np.right_shift)),
        "v_ashrrev_i32": vop("i32 u32 i32", _shift(np.right_shift)),
        "v_lshlrev_b64": vop("b64 b32 b64", _shift(np.left_shift)),
        "v_lshrrev_b64": vop("b64 b32 b64", _shift(np.right_shift)),
        "v_ashrrev_i64": vop("i64 u32 i64", _shift(np.right_shift)),
        "v_lshlrev_b16": vop("b16 b16 b16", _shift(np.left_shift)),
        "v_lshrrev_b16": vop("b16 b16 b16", _shift(np.right_shift)),
        "v_ashrrev_i16": vop("i16 u16 i16", _shift(np.right_shift)),
        "v_lshl_add_u32": vop("u32 u32 u32 u32", lambda a, b, c: (a << (b & U32(31))) + c),
        "v_add_lshl_u32": vop("u32 u32 u32 u32", lambda a, b, c: (a + b) << (c & U32(31))),
        "v_lshl_or_b32": vop("u32 u32 u32 u32", lambda a, b, c: (a << (b & U32(31))) | c),
        "v_lshl_add_u64": vop(
            "u64 u64 u32 u64", lambda a, b, c: (a << (b & U32(7)).astype(U64)) + c
        ),
        "v_alignbit_b32": vop("b32 b32 b32 b32", _align(1)),
        "v_alignbyte_b32": vop("b32 b32 b32 b32", _align(8)),
    }


def _logic() -> dict[str, Vector]:
    return {
        "v_mov_b32": vop("b32 b32", np.positive),
        "v_mov_b64": vop("b64 b64", np.positive),
        "v_not_b32": vop("b32 b32", np.invert),
        "v_and_b32": vop("b32 b32 b32", np.bitwise_and),
        "v_or_b32": vop("b32 b32 b32", np.bitwise_or),
        "v_xor_b32": vop("b32 b32 b32", np.bitwise_xor),
        "v_xnor_b32": vop("b32 b32 b32", lambda a, b: ~(a ^ b)),
        "v_or3_b32": vop("b32 b32 b32 b32", lambda a, b, c: a | b | c),
        "v_and_or_b32": vop("b32 b32 b32 b32", lambda a, b, c: (a & b) | c),
        "v_xad_u32": vop("b32 b32 b32 b32", lambda a, b, c: (a ^ b) + c),
        "v_add3_u32": vop("b32 b32 b32 b32", lambda a, b, c: a + b + c),
        "v_bfi_b32": vop("b32 b32 b32 b32", lambda a, b, c: (a & b) | (~a & c)),
        "v_bfm_b32": vop(
            "b32 b32 b32", lambda a, b: ((U32(1) << (a & U32(31))) - U32(1)) << (b & U32(31))
        ),
        "v_bfe_u32": vop("u32 u32 u32 u32", _field),
        "v_bfe_i32": vop("i32 u32 u32 u32", _signed_field),
        "v_bfrev_b32": vop("b32 b32", bit_reverse),
        "v_ffbh_u32": vop("u32 u32", find_last),
        "v_ffbh_i32": vop("u32 i32", find_sign_change),
        "v_ffbl_b32": vop("u32 u32", lowest_bit),
        "v_bcnt_u32_b32": vop("u32 u32 u32", lambda a, b: np.bitwise_count(a).astype(U32) + b),
        "v_perm_b32": vop("b32 b32 b32 b32", permute_bytes),
        "v_pack_b32_f16": vop(
            # Mere bits, but real constants are halves.
            "b32 f16 f16",
            lambda a, b: a.view(U16).astype(U32) | (b.view(U16).astype(U32) << U32(16)),
        ),
        "v_cvt_pk_u16_u32": vop("u32 u32 u32", _pack_saturated(0, 0xFFFF)),
        "v_cvt_pk_i16_i32": vop("u32 i32 i32", _pack_saturated(-0x8000, 0x7FFF)),
        "v_sat_pk_u8_i16": vop("b16 b32", _saturated_pack_bytes),
    }


def _differences() -> dict[str, Vector]:
    return {
        "v_sad_u8": vop("u32 u32 u32 u32", lambda a, b, c: sum_differences(a, b) + c),
        "v_sad_hi_u8": vop(
            "u32 u32 u32 u32", lambda a, b, c: (sum_differences(a, b) << U32(16)) + c
        ),
        "v_sad_u16": vop("u32 u32 u32 u32", _sad_u16),
        "v_sad_u32": vop("u32 u32 u32 u32", lambda a, b, c: _difference(a, b) + c),
        "v_msad_u8": vop("u32 u32 u32 u32", lambda a, b, c: sum_differences(a, b, masked=True) + c),
        "v_lerp_u8": vop("u32 u32 u32 u32", _lerp),
    }


TABLE: Final[dict[str, Vector]] = {
    **_min_max(), **_sums(), **_products(), **_shifts(), **_logic(), **_differences(),
}  # fmt: skip
