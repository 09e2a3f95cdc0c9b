"""NumPy types and bit conversions shared by all instructions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# The dtype of a register depends on the instruction that reads it, so no one type fits.
Array = NDArray[Any]
Integer = np.integer[Any]

LANES: Final = 64
ALL_LANES: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
POISON: Final = 0xFFFF_FFFF
"""What registers and memory hold before they are written: NaN as any float, -1 as any integer."""


def lanes_of(masks: Array) -> Array:
    """Return ``masks`` (uint64 [waves]) as booleans [waves, 64]."""
    octets = np.ascontiguousarray(masks).view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)


def masks_of(lanes: Array) -> Array:
    """Return booleans [waves, 64] as uint64 [waves]."""
    return np.packbits(lanes, axis=1, bitorder="little").view(np.uint64).reshape(-1)


def join(low: Array, high: Array) -> Array:
    """Return two uint32 arrays of one shape as one of uint64."""
    joined = np.empty((*np.broadcast_shapes(low.shape, high.shape), 2), np.uint32)
    joined[..., 0] = low
    joined[..., 1] = high
    return joined.view(np.uint64)[..., 0]


def split(value: Array) -> Array:
    """Return 64-bit values as uint32, low and high in a new last axis."""
    wide = np.ascontiguousarray(value)
    return wide.view(np.uint32).reshape(*wide.shape, 2)
