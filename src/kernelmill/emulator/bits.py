"""Bit operations on unsigned words of 32 or 64 bits, for whole arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.arrays import Array

NONE: Final = np.uint32(0xFFFF_FFFF)
"""What the searches return when they find nothing."""


def _width(value: Array) -> int:
    return value.dtype.itemsize * 8


def bit_count(wanted: int) -> Callable[[Array], Array]:
    """Return a function that counts the bits that are ``wanted``: uint32."""
    return lambda a: np.bitwise_count(a if wanted else ~a).astype(np.uint32)


def bit_reverse(value: Array) -> Array:
    """Return ``value`` with its bits in reverse order."""
    wide = np.ascontiguousarray(value)
    octets = wide.view(np.uint8).reshape(*wide.shape, wide.dtype.itemsize)
    flipped = np.packbits(np.unpackbits(octets, axis=-1, bitorder="little"), axis=-1)
    return np.ascontiguousarray(flipped[..., ::-1]).view(wide.dtype).reshape(wide.shape)


def lowest_bit(value: Array) -> Array:
    """Return the number of the lowest bit that is 1, or all ones: uint32."""
    alone = value & (~value + value.dtype.type(1))
    count = np.bitwise_count(alone - value.dtype.type(1)).astype(np.uint32)
    return np.where(value == 0, NONE, count)


def find_first(wanted: int) -> Callable[[Array], Array]:
    """Return a function that finds the lowest bit that is ``wanted``."""
    return lambda a: lowest_bit(np.asarray(a if wanted else ~a))


def find_last(value: Array) -> Array:
    """Return how many 0 bits stand above the highest 1, or all ones for 0: uint32."""
    filled = np.array(value)
    shift = 1
    while shift < _width(filled):
        filled |= filled >> value.dtype.type(shift)
        shift *= 2
    count = np.uint32(_width(filled)) - np.bitwise_count(filled).astype(np.uint32)
    return np.where(value == 0, NONE, count)


def find_sign_change(value: Array) -> Array:
    """Return how many bits at the top equal the sign, or all ones if all do: uint32."""
    folded = np.where(value < 0, ~value, value)
    return find_last(folded.view(np.dtype(f"u{value.dtype.itemsize}")))


def whole_quad(value: Array) -> Array:
    """Return 4 ones for each group of 4 bits that has a 1."""
    result: Array = quads(value) * value.dtype.type(15)
    return result


def quads(value: Array) -> Array:
    """Return a 1 in the lowest bit of each group of 4 bits that has a 1."""
    kind = value.dtype.type
    ones = kind(0x1111_1111_1111_1111 >> (64 - _width(value)))
    half = value | (value >> kind(1))
    result: Array = (half | (half >> kind(2))) & ones
    return result


def quad_mask(value: Array) -> Array:
    """Return one bit for each group of 4 bits: whether it has a 1."""
    kind = value.dtype.type
    packed = np.zeros_like(value)
    found = quads(value)
    for place in range(_width(value) // 4):
        packed |= ((found >> kind(4 * place)) & kind(1)) << kind(place)
    return packed


def broadcast_bits(value: Array) -> Array:
    """Return each of 32 bits twice: uint64."""
    wide = np.zeros(value.shape, np.uint64)
    for place in range(32):
        wide |= ((value >> np.uint32(place)) & np.uint32(1)).astype(np.uint64) * np.uint64(
            3 << (2 * place)
        )
    return wide
