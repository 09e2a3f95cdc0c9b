"""Who read which bytes of global memory: to find a write that another wave's read may come after.

A cell holds the stamp of the last reader (see ``global_shadow``), or says that there were several.
Aligned reads of words, by far the most, take one cell for four bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.memory import Allocation

WAVE_BITS, EPOCH_BITS, GROUP_BITS = 5, 12, 14
WAVE: Final = np.uint32((1 << WAVE_BITS) - 1)
"""As a wave: several waves of one workgroup, in one epoch."""
EVERYONE: Final = np.uint32(0x7FFF_FFFF)
"""Waves of several workgroups."""
WORD: Final = 4


class Readers:
    """The readers of one launch."""

    def __init__(self) -> None:
        self._words: dict[int, Array] = {}
        """Start of an allocation -> a cell for each 4 bytes."""
        self._octets: dict[int, Array] = {}
        """The same for each byte."""

    def note(self, allocation: Allocation, places: Array, width: int, own: Array) -> None:
        """Note reads of ``width`` bytes at ``places`` [n] by waves with the stamps ``own`` [n]."""
        is_word = width % WORD == 0 and not (places % WORD).any()
        cells = self._words if is_word else self._octets
        stamps = cells.get(allocation.address)
        if stamps is None:
            count = -(-allocation.size_bytes // WORD) if is_word else allocation.size_bytes
            stamps = cells[allocation.address] = np.zeros(count, np.uint32)
        first, count = (places // WORD, width // WORD) if is_word else (places, width)
        for place in range(count):
            _note(stamps, first + place, own)

    def clash(self, allocation: Allocation, places: Array, width: int, own: Array) -> Array:
        """Return which writes [n] touch what another wave read, without order between them."""
        found = np.zeros(len(places), np.bool_)
        for stamps, cells in self._cells(allocation, places, width):
            before = stamps[cells]
            group, epoch, wave = _differences(before, own)
            found |= (before != 0) & (group | ((epoch == 0) & wave) | (before == EVERYONE))
        return found

    def _cells(
        self, allocation: Allocation, places: Array, width: int
    ) -> Iterator[tuple[Array, Array]]:
        words = self._words.get(allocation.address)
        if words is not None:
            for place in range(0, width, WORD):
                yield words, (places + place) // WORD
        octets = self._octets.get(allocation.address)
        if octets is not None:
            for place in range(width):
                yield octets, places + place


def _note(stamps: Array, cells: Array, own: Array) -> None:
    before = stamps[cells]
    if (before == own).all():
        return
    stamps[cells] = _merged(before, own)
    # Another lane of this very instruction may read the same.
    after = stamps[cells]
    both = _merged(after, own)
    late = both != after
    if late.any():
        stamps[cells[late]] = both[late]


def _merged(before: Array, own: Array) -> Array:
    """Return the cell after one more reader; what is before a barrier is forgotten."""
    group, epoch, wave = _differences(before, own)
    several = own | np.where((epoch == 0) & wave, WAVE, np.uint32(0))
    merged = np.where(group | (before == EVERYONE), EVERYONE, several)
    result: Array = np.where(before == 0, own, merged)
    return result


def _differences(before: Array, own: Array) -> tuple[Array, Array, Array]:
    """Return whether the workgroups differ, in what the epochs do, and whether the waves do."""
    changed = before ^ own
    group = (changed >> np.uint32(WAVE_BITS + EPOCH_BITS)) != 0
    epoch = changed >> np.uint32(WAVE_BITS) & np.uint32((1 << EPOCH_BITS) - 1)
    return group, epoch, (changed & WAVE) != 0
