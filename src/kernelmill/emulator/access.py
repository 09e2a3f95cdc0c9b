"""Move data between registers and memory at many addresses at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.memory import SPACES, elements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelmill.emulator.arrays import Array

WORD: Final = 4


def common_unit(addresses: Array, width_bytes: int) -> int:
    """Return the largest element that ``width_bytes`` at each of ``addresses`` consists of."""
    low_bits = int(np.bitwise_or.reduce(addresses, axis=None)) | width_bytes | 16
    return low_bits & -low_bits


def gather(addresses: Array, width_bytes: int) -> list[Array]:
    """Return what lies at ``addresses`` (int64) as words: uint32, one array for 4 bytes.

    Fewer than 4 bytes give one word, filled up with zeros.
    """
    unit = common_unit(addresses, width_bytes)
    space, first = SPACES[unit], elements(addresses, unit)
    parts = [
        space.take(first if not place else first + place, mode="wrap")
        for place in range(width_bytes // unit)
    ]
    if unit >= WORD:
        return [word for part in parts for word in _words(part, unit)]
    return _assemble(parts, unit)


def _words(part: Array, unit: int) -> list[Array]:
    if unit == WORD:
        return [part]
    split = part.view(np.uint32).reshape(*part.shape, unit // WORD)
    return [split[..., place] for place in range(unit // WORD)]


def _assemble(parts: Sequence[Array], unit: int) -> list[Array]:
    """Make words of bytes or halves."""
    per_word = WORD // unit
    words = []
    for start in range(0, len(parts), per_word):
        word = parts[start].astype(np.uint32)
        for place, part in enumerate(parts[start + 1 : start + per_word], 1):
            word |= part.astype(np.uint32) << np.uint32(8 * unit * place)
        words.append(word)
    return words


def scatter(addresses: Array, width_bytes: int, words: Sequence[Array]) -> None:
    """Write words (uint32, shaped like ``addresses``) to memory; the last one wins a conflict."""
    unit = common_unit(addresses, width_bytes)
    space, first = SPACES[unit], elements(addresses, unit)
    for place in range(width_bytes // unit):
        space[first + place if place else first] = _part(words, unit, place)


def _part(words: Sequence[Array], unit: int, place: int) -> Array:
    """Return element ``place`` of ``unit`` bytes out of consecutive words."""
    if unit == WORD:
        return words[place]
    if unit < WORD:
        per_word = WORD // unit
        moved = words[place // per_word] >> np.uint32(8 * unit * (place % per_word))
        return moved.astype(np.uint8 if unit == 1 else np.uint16)
    count = unit // WORD
    joined = np.stack(words[place * count : (place + 1) * count], axis=-1)
    return joined.view(np.uint64 if unit == 8 else np.complex128)[..., 0]


def update(
    addresses: Array,
    values: Array,
    compute: Callable[[Array, Array], Array],
    *,
    operands: Array | None = None,
) -> Array:
    """Apply an atomic operation at each of ``addresses`` (int64 [n]), in order; return old values.

    Args:
        addresses: aligned to the size of the values.
        values: the operand of each; its dtype is that of the memory.
        compute: (old, operand) -> new.
        operands: what ``compute`` gets instead of ``values``.
    """
    width = values.dtype.itemsize
    memory = SPACES[width].view(values.dtype)
    places = elements(addresses, width)
    given = values if operands is None else operands
    old = np.empty_like(values)
    for chosen in _rounds(places):
        found = memory[places[chosen]]
        old[chosen] = found
        memory[places[chosen]] = compute(found, given[chosen])
    return old


def _rounds(places: Array) -> list[Array]:
    """Return groups of indices such that no place occurs twice in a group; order is kept."""
    if not len(places):
        return []
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    if is_first.all():
        return [order]
    counts = np.arange(len(places))
    rank = counts - np.maximum.accumulate(np.where(is_first, counts, 0))
    by_rank = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank))
    return [order[chosen] for chosen in np.split(by_rank, ends[:-1])]
