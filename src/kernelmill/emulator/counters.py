"""Count what a launch asks of memory and LDS. Emulated and modelled: never a time.

Coalescing model: each execution of a global access moves the 128-byte lines that its lanes touch.
LDS model of CDNA3: 32 banks of 4 bytes; lanes that read one word share it. An access is made in
phases: 16 bytes per lane in 8 phases of 8 lanes, all narrower ones in 2 of 32 lanes. Which lanes
form a phase of ``ds_read_b128`` is known from a public description, so it is likely, not certain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import LANES

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.observer import Access, Site, Touch
    from kernelmill.emulator.program import Block
    from kernelmill.emulator.registers import Waves

LINE_BYTES: Final = 128
BANKS: Final = 32
WORD: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCounter:
    """One global memory instruction."""

    address: int
    instruction: str
    access: Access
    source: str = ""
    """``file:line``, or empty without debug information."""
    accesses: int = 0
    """Of whole waves with an active lane."""
    bytes_requested: int = 0
    """By active lanes."""
    bytes_moved: int = 0
    """In whole lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LdsCounter:
    """One LDS instruction."""

    address: int
    instruction: str
    access: Access
    source: str = ""
    accesses: int = 0
    """Of whole waves with an active lane; an instruction with two addresses makes two."""
    bytes_requested: int = 0
    cycles: int = 0
    """By the model, bank conflicts included."""
    conflict_cycles: int = 0
    """More than the same data need when they spread over all banks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """All memory instructions of a launch that ran, by address."""

    memory: tuple[MemoryCounter, ...]
    lds: tuple[LdsCounter, ...]

    def lines(self) -> list[str]:
        """Return them as the lines of a table."""
        rows = ["  global memory (requested, moved by the model):"]
        rows += [
            f"    {item.address:#8x} {item.instruction:<48}{item.bytes_requested:>14,}"
            f"{item.bytes_moved:>14,}"
            for item in self.memory
        ]
        rows += ["  LDS (cycles by the model, of these bank conflicts):"]
        rows += [
            f"    {item.address:#8x} {item.instruction:<48}{item.cycles:>14,}"
            f"{item.conflict_cycles:>14,}"
            for item in self.lds
        ]
        return rows


class Profiler:
    """Watches the batches of one launch, and adds up."""

    def __init__(self, source_of: Callable[[int], str]) -> None:
        self._source_of = source_of
        self._memory: dict[int, MemoryCounter] = {}
        self._lds: dict[int, LdsCounter] = {}

    @property
    def counters(self) -> Counters:
        """Return what was counted."""
        return Counters(
            memory=tuple(self._memory[address] for address in sorted(self._memory)),
            lds=tuple(self._lds[address] for address in sorted(self._lds)),
        )

    def on_block(self, block: Block, waves: Waves) -> None:
        """Do nothing: the machine counts blocks itself."""

    def on_global(self, touch: Touch) -> None:
        """Add up bytes and lines."""
        site, address = touch.site, touch.site.decoded.instruction.address
        known = self._memory.get(address) or MemoryCounter(
            address=address,
            instruction=str(site.decoded.instruction),
            access=site.access,
            source=self._source_of(address),
        )
        self._memory[address] = replace(
            known,
            accesses=known.accesses + int(touch.lanes.any(axis=1).sum()),
            bytes_requested=known.bytes_requested + int(touch.lanes.sum()) * site.width_bytes,
            bytes_moved=known.bytes_moved + count_lines(touch) * LINE_BYTES,
        )

    def on_wild(self, touch: Touch) -> bool:
        """Leave the decision to others."""
        del touch
        return False

    def on_lds(self, touch: Touch) -> None:
        """Add up bytes and cycles."""
        site, address = touch.site, touch.site.decoded.instruction.address
        cycles, ideal = lds_cycles(touch.addresses, touch.lanes, site)
        known = self._lds.get(address) or LdsCounter(
            address=address,
            instruction=str(site.decoded.instruction),
            access=site.access,
            source=self._source_of(address),
        )
        self._lds[address] = replace(
            known,
            accesses=known.accesses + int(touch.lanes.any(axis=1).sum()),
            bytes_requested=known.bytes_requested + int(touch.lanes.sum()) * site.width_bytes,
            cycles=known.cycles + cycles,
            conflict_cycles=known.conflict_cycles + cycles - ideal,
        )

    def on_wild_lds(self, touch: Touch) -> None:
        """Do nothing: such accesses do not happen."""

    def on_barrier(self, rows: Array, resume: Array) -> None:
        """Do nothing."""

    def on_end(self) -> None:
        """Do nothing."""


def count_lines(touch: Touch) -> int:
    """Return how many lines the waves touch, each wave by itself."""
    first = touch.addresses // LINE_BYTES
    last = (touch.addresses + touch.site.width_bytes - 1) // LINE_BYTES
    nothing = np.int64(-1)
    both = np.concatenate(
        (np.where(touch.lanes, first, nothing), np.where(touch.lanes, last, nothing)), axis=1
    )
    both.sort(axis=1)
    is_new = np.ones(both.shape, np.bool_)
    is_new[:, 1:] = both[:, 1:] != both[:, :-1]
    return int((is_new & (both != nothing)).sum())


def _phases(site: Site) -> Array:
    """Return the lanes of each phase: [phase, lane in it]."""
    lanes = np.arange(LANES)
    if site.width_bytes < 12:
        return lanes.reshape(2, 32)
    if site.access == "write" or site.width_bytes < 16:
        return lanes.reshape(8, 8)
    starts = np.array([[0, 20], [4, 16], [8, 28], [12, 24]])
    first = (starts[:, :, None] + np.arange(4)).reshape(4, 8)
    return np.concatenate((first, first + 32))


def lds_cycles(place: Array, lanes: Array, site: Site) -> tuple[int, int]:
    """Return the cycles that the model gives, and those without conflicts.

    Args:
        place: byte offsets, int64 [wave, lane].
        lanes: which of them count.
        site: the instruction.
    """
    words = max(site.width_bytes // WORD, 1)
    phases = _phases(site)
    entries = (place[:, phases] // WORD)[..., None] + np.arange(words)
    entries = np.where(lanes[:, phases][..., None], entries, -1)
    flat = np.sort(entries.reshape(-1, phases.shape[1] * words), axis=1)
    is_new = np.ones(flat.shape, np.bool_)
    is_new[:, 1:] = flat[:, 1:] != flat[:, :-1]
    is_new &= flat >= 0
    rows = np.broadcast_to(np.arange(len(flat))[:, None], flat.shape)
    keys = (rows * BANKS + flat % BANKS)[is_new]
    per_bank = np.bincount(keys, minlength=len(flat) * BANKS).reshape(-1, BANKS)
    ideal = -(-per_bank.sum(axis=1) // BANKS)
    return int(per_bank.max(axis=1).sum()), int(ideal.sum())
