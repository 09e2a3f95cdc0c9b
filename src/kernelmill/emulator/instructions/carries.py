"""Vector instructions with a mask, beside their values, as source or result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator import floats
from kernelmill.emulator.arrays import LANES, Array, lanes_of, masks_of
from kernelmill.emulator.instructions.salu import bind_result
from kernelmill.emulator.operands import Operand, parse_operand
from kernelmill.emulator.sources import bind_scalar
from kernelmill.emulator.vector import (
    Binder,
    Compute,
    Writer,
    bind_sources,
    bind_write,
)

if TYPE_CHECKING:
    from kernelmill.emulator.program import Decoded, Layout, Operation, Reader
    from kernelmill.emulator.registers import Waves

U32, U64, I64 = np.uint32, np.uint64, np.int64
LIMIT: Final = U64(0xFFFF_FFFF)


def bind_mask(operand: Operand, decoded: Decoded) -> Reader:
    """Return the reader of a scalar pair as booleans [wave, lane]."""
    read = bind_scalar(operand, "b64", decoded)

    def lanes(w: Waves) -> Array:
        return lanes_of(np.broadcast_to(read(w), (w.count,)))

    return lanes


def bind_mask_result(operand: Operand, decoded: Decoded) -> Writer:
    """Return what writes booleans [wave, lane] to a scalar pair; 0 for inactive lanes."""
    write = bind_result(operand, "b64", decoded)

    def put(w: Waves, found: Array) -> None:
        masks = masks_of(np.broadcast_to(found, (w.count, LANES)))
        write(w, masks if w.is_full else masks & w.exec)

    return put


def _bind_select(kind: str) -> Binder:
    """Bind ``v_cndmask``: the second source where the mask has a 1, else the first."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target, one, other, *rest = decoded.operands
        mask = bind_mask(rest[0] if rest else parse_operand("vcc"), decoded)
        first, second = bind_sources(decoded, layout, [one, other], [kind, kind])
        write = bind_write(decoded, layout, target, kind)
        return lambda w: write(w, np.where(mask(w), second(w), first(w)))

    return bind


def _bind_sum(*, sign: int, is_reversed: bool = False, takes_carry: bool = False) -> Binder:
    """Bind additions and subtractions that write a carry (or borrow) mask."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target, carry, one, other, *rest = decoded.operands
        first, second = bind_sources(decoded, layout, [one, other], ["u32", "u32"])
        carry_in = bind_mask(rest[0], decoded) if takes_carry else None
        write = bind_write(decoded, layout, target, "u32")
        write_carry = bind_mask_result(carry, decoded)
        clamps = "clamp" in decoded.modifiers

        def run(w: Waves) -> None:
            a, b = first(w), second(w)
            a, b = (b, a) if is_reversed else (a, b)
            total = np.add(a, b, dtype=U64) if sign > 0 else np.subtract(a, b, dtype=U64)
            if carry_in is not None:
                total = total + carry_in(w) if sign > 0 else total - carry_in(w)
            over = total > LIMIT  # a borrow wraps around, so it is seen here as well
            if clamps:
                total = np.where(over, LIMIT if sign > 0 else U64(0), total)
            result = np.broadcast_to(total, (w.count, LANES)).astype(U32)
            write(w, result)
            write_carry(w, over)

        return run

    return bind


def _bind_wide_multiply(*, is_signed: bool) -> Binder:
    """Bind ``v_mad_u64_u32`` and ``v_mad_i64_i32``."""
    narrow, wide = ("i32", "i64") if is_signed else ("u32", "u64")
    dtype = I64 if is_signed else U64

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target, carry, *sources = decoded.operands
        first, second, third = bind_sources(decoded, layout, sources, [narrow, narrow, wide])
        write = bind_write(decoded, layout, target, wide)
        write_carry = bind_mask_result(carry, decoded)

        def run(w: Waves) -> None:
            product = np.multiply(first(w), second(w), dtype=dtype)
            addend = third(w)
            total = np.asarray(product + addend)
            if is_signed:
                over = ((product >= 0) == (addend >= 0)) & ((total >= 0) != (product >= 0))
            else:
                over = total < product
            write(w, total)
            write_carry(w, np.asarray(over))

        return run

    return bind


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """The numbers that the division instructions of one width use."""

    kind: str
    large: int
    """Difference of exponents from which the quotient may overflow."""
    step: int
    """Power of two by which operands are scaled."""
    fraction_bits: int
    bias: int
    tiny_numerator: int
    """Biased exponent of a numerator that is scaled up."""
    fused: Compute


DIVISIONS: Final = {
    32: Division(
        kind="f32", large=96, step=64, fraction_bits=23, bias=127, tiny_numerator=23,
        fused=floats.fma32,
    ),
    64: Division(
        kind="f64", large=768, step=128, fraction_bits=52, bias=1023, tiny_numerator=53,
        fused=floats.fma64,
    ),
}  # fmt: skip


def biased_exponent(value: Array, division: Division) -> Array:
    """Return the exponent field of floating-point numbers: int64."""
    bits = value.view(np.dtype(f"u{value.dtype.itemsize}"))
    field = (bits >> bits.dtype.type(division.fraction_bits)).astype(I64)
    result: Array = field & (2 * division.bias + 1)
    return result


def scale_division(
    division: Division, a: Array, denominator: Array, numerator: Array
) -> tuple[Array, Array]:
    """Return ``a``, scaled so that dividing cannot go wrong, and whether to undo it later.

    The rules, in order, are the pseudo-code of ``V_DIV_SCALE`` in AMD's manual, but for a large
    denominator with a tiny quotient, which is scaled down: up, as printed, it would overflow.
    """
    over, under = (biased_exponent(x, division) for x in (numerator, denominator))
    tiny = np.ldexp(a.dtype.type(1), 1 - division.bias)
    up, down = np.ldexp(a, division.step), np.ldexp(a, -division.step)
    inverse, quotient = 1 / denominator, numerator / denominator
    inverse_is_tiny = (inverse != 0) & (np.abs(inverse) < tiny)
    quotient_is_tiny = (np.abs(quotient) < tiny) & ~np.isinf(denominator)
    for_denominator = np.where(a == denominator, up, a)
    for_numerator = np.where(a == numerator, up, a)
    rules = (
        ((denominator == 0) | (numerator == 0), np.full_like(a, np.nan), False),
        (over - under >= division.large, for_denominator, True),
        (np.abs(denominator) < tiny, up, False),
        (inverse_is_tiny & quotient_is_tiny, np.where(a == denominator, down, a), True),
        (inverse_is_tiny, down, False),
        (quotient_is_tiny, for_numerator, True),
        (over <= division.tiny_numerator, up, False),
    )
    conditions = [rule for rule, _, _ in rules]
    result = np.select(conditions, [value for _, value, _ in rules], a)
    flags = np.select(conditions, [np.full(a.shape, flag) for _, _, flag in rules], default=False)
    return result, flags


def _bind_division_scale(division: Division) -> Binder:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target, flag, *sources = decoded.operands
        read = bind_sources(decoded, layout, sources, [division.kind] * 3)
        write = bind_write(decoded, layout, target, division.kind)
        write_flag = bind_mask_result(flag, decoded)

        def run(w: Waves) -> None:
            values = (np.broadcast_to(source(w), (w.count, LANES)) for source in read)
            result, flags = scale_division(division, *map(np.ascontiguousarray, values))
            write(w, result)
            write_flag(w, flags)

        return run

    return bind


def _bind_division_sum(division: Division) -> Binder:
    """Bind ``v_div_fmas``: multiply-add, and undo the scale where VCC says there was one."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target, *sources = decoded.operands
        read = bind_sources(decoded, layout, sources, [division.kind] * 3)
        mask = bind_mask(parse_operand("vcc"), decoded)
        write = bind_write(decoded, layout, target, division.kind)

        def run(w: Waves) -> None:
            values = (np.broadcast_to(source(w), (w.count, LANES)) for source in read)
            a, b, c = map(np.ascontiguousarray, values)
            total = division.fused(a, b, c)
            # The estimate's exponent tells which way it was scaled.
            is_large = biased_exponent(c, division) > division.bias
            scaled = np.ldexp(total, np.where(is_large, division.step, -division.step))
            write(w, np.where(mask(w), scaled, total))

        return run

    return bind


def division_fixup(quotient: Array, denominator: Array, numerator: Array) -> Array:
    """Return the quotient, corrected where an operand is 0, infinite or NaN."""
    negative = np.signbit(denominator) ^ np.signbit(numerator)
    zero, infinity = quotient.dtype.type(0), quotient.dtype.type(np.inf)
    signed_zero = np.where(negative, -zero, zero)
    signed_infinity = np.where(negative, -infinity, infinity)
    nothing = ((denominator == 0) & (numerator == 0)) | (
        np.isinf(denominator) & np.isinf(numerator)
    )
    # A quotient that overflowed on the way became NaN, for which the operands give no reason.
    quotient = np.where(np.isnan(quotient), infinity, quotient)
    rules = [
        np.isnan(numerator), np.isnan(denominator), nothing,
        (denominator == 0) | np.isinf(numerator), np.isinf(denominator) | (numerator == 0),
    ]  # fmt: skip
    nan = np.full(np.shape(numerator), np.nan, quotient.dtype)
    choices = [numerator, denominator, nan, signed_infinity, signed_zero]
    signed = np.copysign(
        quotient, np.where(negative, -quotient.dtype.type(1), quotient.dtype.type(1))
    )
    shape = np.broadcast_shapes(*(item.shape for item in (quotient, denominator, numerator)))
    return np.select(
        [np.broadcast_to(rule, shape) for rule in rules],
        [np.broadcast_to(choice, shape) for choice in choices],
        np.broadcast_to(signed, shape),
    )


def _make_binders() -> dict[str, Binder]:
    binders: dict[str, Binder] = {
        "v_cndmask_b32": _bind_select("b32"),
        "v_mad_u64_u32": _bind_wide_multiply(is_signed=False),
        "v_mad_i64_i32": _bind_wide_multiply(is_signed=True),
        **{f"v_div_scale_f{width}": _bind_division_scale(x) for width, x in DIVISIONS.items()},
        **{f"v_div_fmas_f{width}": _bind_division_sum(x) for width, x in DIVISIONS.items()},
    }
    for stem, carrying, sign, is_reversed in (
        ("add", "addc", 1, False), ("sub", "subb", -1, False), ("subrev", "subbrev", -1, True),
    ):  # fmt: skip
        binders[f"v_{stem}_co_u32"] = _bind_sum(sign=sign, is_reversed=is_reversed)
        binders[f"v_{carrying}_co_u32"] = _bind_sum(
            sign=sign, is_reversed=is_reversed, takes_carry=True
        )
    return binders


BINDERS: Final = _make_binders()
