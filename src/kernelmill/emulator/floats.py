"""Floating-point arithmetic as the hardware does it, where NumPy has nothing of the kind."""

from __future__ import annotations

from fractions import Fraction
from math import copysign, inf
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array

TAIL: Final = np.uint64((1 << 29) - 1)
"""Bits of a float64 mantissa that float32 lacks."""
TIE: Final = np.uint64(1 << 28)
SPLITTER: Final = np.float64((1 << 27) + 1)
SMALL: Final = 2.0**-900
LARGE: Final = 2.0**990
"""Products beyond these need more exponents than float64 has, to be split."""


def fma32(a: Array, b: Array, c: Array) -> Array:
    """Return ``a * b + c`` in float32, rounded once."""
    product = np.multiply(a, b, dtype=np.float64)  # exact: 24 + 24 bits
    total = product + c
    tail = np.asarray(total).view(np.uint64) & TAIL
    # A float64 sum that lies exactly between two float32 may have been rounded to that place.
    if (tail == TIE).any():
        total = _to_odd(product, c.astype(np.float64), total)
    return np.asarray(total.astype(np.float32))


def _to_odd(a: Array, b: Array, total: Array) -> Array:
    """Return ``a + b``, of which ``total`` is the rounded value, rounded to odd instead."""
    away = total - a
    error = (a - (total - away)) + (b - away)
    bits = np.asarray(total).view(np.int64)
    grows = (error > 0) == (total > 0)
    step = np.where(grows, np.int64(1), np.int64(-1))
    inexact = (error != 0) & ((bits & 1) == 0) & np.isfinite(total)
    return np.asarray(np.where(inexact, bits + step, bits)).view(np.float64)


def fma16(a: Array, b: Array, c: Array) -> Array:
    """Return ``a * b + c`` in float16, rounded once."""
    product = np.multiply(a, b, dtype=np.float64)
    return _to_odd(product, c.astype(np.float64), product + c).astype(np.float16)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """Return ``a * b + c`` in float64, rounded once.

    Source: Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums" (2008).
    """
    high = a * b
    low = _product_error(a, b, high)
    middle, middle_error = _two_sum(c, low)
    top, top_error = _two_sum(high, middle)
    rest = np.asarray(top_error + middle_error)
    exact = top + _to_odd(top_error, middle_error, rest)
    plain = high + c
    # Infinities make NaN of the errors, and exact cancellation leaves the sign to the plain sum.
    result = np.where(np.isfinite(exact) & (exact != 0), exact, plain)
    size = np.abs(high)
    is_hard = (size < SMALL) & (a != 0) & (b != 0) | (size > LARGE) & np.isfinite(a) & np.isfinite(
        b
    )
    is_hard &= np.isfinite(c)
    if np.any(is_hard):
        _fix_hard(result, np.broadcast_to(is_hard, result.shape), (a, b, c))
    return result


def _fix_hard(result: Array, is_hard: Array, operands: tuple[Array, ...]) -> None:
    """Compute anew, with fractions, where errors of float64 underflow or overflow."""
    whole = [np.broadcast_to(operand, result.shape) for operand in operands]
    for place in zip(*np.nonzero(is_hard), strict=True):
        a, b, c = (Fraction(float(operand[place])) for operand in whole)
        total = a * b + c
        try:
            found = float(total)
        except OverflowError:
            found = inf if total > 0 else -inf
        if total:
            # A result that rounds to 0 keeps its sign.
            result[place] = copysign(found, 1 if total > 0 else -1)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    away = total - a
    return total, (a - (total - away)) + (b - away)


def _product_error(a: Array, b: Array, product: Array) -> Array:
    """Return ``a * b - product``, exactly. Source: Dekker (1971)."""
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    result: Array = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return result


def _halves(value: Array) -> tuple[Array, Array]:
    scaled = SPLITTER * value
    high = scaled - (scaled - value)
    return high, value - high


def flush(value: Array) -> Array:
    """Return zeros of the same sign for denormal numbers, all others as they are."""
    smallest = np.finfo(value.dtype).smallest_normal
    return np.where(np.abs(value) < smallest, np.copysign(value.dtype.type(0), value), value)


def minimum(a: Array, b: Array) -> Array:
    """Return the lesser; -0 is less than +0, a number wins against NaN."""
    found = np.fmin(a, b)
    both_zero = (a == 0) & (b == 0)
    return np.where(both_zero & np.signbit(a), a, np.where(both_zero, b, found))


def maximum(a: Array, b: Array) -> Array:
    """Return the greater; +0 is greater than -0, a number wins against NaN."""
    found = np.fmax(a, b)
    both_zero = (a == 0) & (b == 0)
    return np.where(both_zero & np.signbit(a), b, np.where(both_zero, a, found))


def fraction(value: Array) -> Array:
    """Return ``value - floor(value)``, below 1."""
    kind = value.dtype.type
    limit = np.nextafter(kind(1), kind(0))
    return np.asarray(np.minimum(value - np.floor(value), limit))


def exponent(value: Array) -> Array:
    """Return the exponent that goes with ``mantissa``; 0 for 0, infinities and NaN: int32."""
    _, found = np.frexp(value)
    return np.where(np.isfinite(value), found, 0).astype(np.int32)


def mantissa(value: Array) -> Array:
    """Return the number scaled to 0.5 <= |m| < 1; 0, infinities and NaN stay."""
    found, _ = np.frexp(value)
    return np.where(np.isfinite(value), found, value)


def scale(value: Array, amount: Array) -> Array:
    """Return ``value * 2 ** amount``, rounded once."""
    return np.asarray(np.ldexp(value, np.clip(amount.astype(np.int32), -5000, 5000)))


def legacy_multiply(a: Array, b: Array) -> Array:
    """Return ``a * b``, but 0 when a factor is 0, whatever the other."""
    return np.where((a == 0) | (b == 0), a.dtype.type(0), a * b)


def median(a: Array, b: Array, c: Array) -> Array:
    """Return the middle one of three; the least one if any is NaN."""
    some_nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    least = minimum(minimum(a, b), c)
    middle = maximum(minimum(a, b), minimum(maximum(a, b), c))
    return np.where(some_nan, least, middle)


CLASSES: Final = (
    "signalling NaN", "quiet NaN", "-infinity", "-normal", "-denormal",
    "-0", "+0", "+denormal", "+normal", "+infinity",
)  # fmt: skip


def classify(value: Array) -> Array:
    """Return one bit set: the place in ``CLASSES``, uint32."""
    facts = np.finfo(value.dtype)
    bits = value.view(f"u{value.dtype.itemsize}")
    quiet = (bits >> bits.dtype.type(facts.nmant - 1)) & bits.dtype.type(1)
    size = np.abs(value)
    # Distance from zero: 0 for a zero, 1 denormal, 2 normal, 3 infinity.
    rank = (size > 0).astype(np.int64) + (size >= facts.smallest_normal) + np.isinf(size)
    place = np.where(np.signbit(value), 5 - rank, 6 + rank)
    place = np.where(np.isnan(value), quiet.astype(np.int64), place)
    result: Array = np.left_shift(np.uint32(1), place.astype(np.uint32))
    return result
