"""Run the waves of a batch: those at the same address together, the others after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from kernelmill.emulator.errors import Stuck
from kernelmill.emulator.limits import MAX_STEPS
from kernelmill.emulator.registers import Waves

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.batch import Batch
    from kernelmill.emulator.program import Block, Layout

QUANTUM: Final = 256
"""Blocks that one group may run while others wait: else a spin lock would never end."""


class CodeSource(Protocol):
    """Where the machine gets its code from: ``Blocks``, or blocks of a test."""

    @property
    def layout(self) -> Layout:
        """Return what the code was bound for."""

    def block(self, address: int) -> Block:
        """Return the block that begins at ``address``."""


class Machine:
    """One batch, from its first instruction to its last.

    A step is one instruction, for all the waves that run it together. A batch that takes
    ``max_steps`` of them while no wave ends is stuck.
    """

    def __init__(
        self, blocks: CodeSource, batch: Batch, entry: int, max_steps: int = MAX_STEPS
    ) -> None:
        self.blocks = blocks
        self.batch = batch
        self._ready: dict[int, Array] = {entry: np.arange(batch.waves)}
        """Address -> rows that wait to run there."""
        self._since: dict[int, int] = {entry: 0}
        """Address -> turn in which its group came."""
        self._turn = 0
        self._max_steps = max_steps
        self._steps_left = max_steps
        self._is_waiting = np.zeros(batch.waves, np.bool_)
        self._has_ended = np.zeros(batch.waves, np.bool_)
        self._resume = np.zeros(batch.waves, np.int64)
        """Where a wave that waits at a barrier goes on."""
        self._per_group = batch.waves // batch.groups

    def run(self) -> None:
        """Run until every wave has ended."""
        with np.errstate(all="ignore"):  # hardware wraps around and makes NaN without a word
            while self._ready:
                address = self._choose()
                rows = self._ready.pop(address)
                del self._since[address]
                self._run_group(address, Waves(self.batch, rows))
            for observer in self.batch.observers:
                observer.on_end()

    def _choose(self) -> int:
        """Return the address of the group to run: the lowest, so that groups meet again."""
        oldest = min(self._since, key=self._since.__getitem__)
        return oldest if self._is_overdue(oldest) else min(self._ready)

    def _is_overdue(self, address: int) -> bool:
        return self._turn - self._since[address] > QUANTUM

    def _run_group(self, address: int, waves: Waves) -> None:
        """Run blocks for one group, until it splits, waits, ends, or another should go first."""
        lowest = min(self._ready, default=None)
        is_ahead = lowest is not None and address > lowest
        end_of_turn = self._turn + QUANTUM
        while True:
            block = self.blocks.block(address)
            block.waves += waves.count
            self._turn += 1
            self._steps_left -= len(block.decoded)
            if self._steps_left < 0:
                raise self._stuck(block, waves)
            for observer in self.batch.observers:
                observer.on_block(block, waves)
            if waves.fragments:
                waves.fragments.clear()
            for operation in block.operations:
                operation(waves)
            following = self._finish(block, waves)
            if following is None:
                return
            address = following
            if lowest is None:
                continue
            # Others wait, and only this group runs, so that they are where they were.
            passes = address > lowest and not is_ahead
            if passes or address in self._ready or self._turn > end_of_turn:
                self._add(address, waves.indices)
                return

    def _finish(self, block: Block, waves: Waves) -> int | None:
        """Return where the whole group goes on, or ``None`` when it does not stay together."""
        end = block.end
        if end.kind == "next":
            return end.following
        if end.kind == "branch":
            return end.target
        if end.kind == "condition":
            assert end.condition is not None
            return self._split(waves, end.condition(waves), end.target, end.following)
        if end.kind == "barrier":
            return self._wait(waves, end.following)
        if end.kind == "end":
            self._has_ended[waves.indices] = True
            self._steps_left = self._max_steps
            self._release()
            return None
        if end.link >= 0:
            back = np.array(self.blocks.layout.image + end.following, np.uint64)
            target = None if end.jump is None else end.jump(waves).copy()
            waves.put_pair(end.link, back)
        else:
            target = None if end.jump is None else end.jump(waves)
        return end.target if target is None else self._jump(waves, target)

    def _stuck(self, block: Block, waves: Waves) -> Stuck:
        row = int(waves.indices[0])
        source = self.batch.source_of(block.address)
        who = f"workgroup {int(self.batch.workgroups[self.batch.group_of[row]])}"
        return Stuck(
            f"{self._max_steps:,} instructions since a wave ended last, now at {block.address:#x}:"
            f" {block.decoded[0].instruction}",
            where=f"{source} {who}, wave {int(self.batch.wave_of[row])}".lstrip(),
            hint="does it wait for a workgroup that comes later? These wait until it has ended;"
            " if it is only long, --max-instructions allows more",
        )

    def _split(self, waves: Waves, taken: Array, target: int, following: int) -> int | None:
        if taken.all():
            return target
        if not taken.any():
            return following
        self._add(target, waves.indices[taken])
        self._add(following, waves.indices[~taken])
        return None

    def _jump(self, waves: Waves, targets: Array) -> int | None:
        places = (targets - np.uint64(self.blocks.layout.image)).view(np.int64)
        distinct = np.unique(places)
        if len(distinct) == 1:
            return int(distinct[0])
        for place in distinct:
            self._add(int(place), waves.indices[places == place])
        return None

    def _wait(self, waves: Waves, following: int) -> int | None:
        """Let the waves wait at a barrier; return ``following`` if all came at once."""
        self._resume[waves.indices] = following
        if waves.count == self.batch.waves:
            self._tell_barrier(waves.indices)
            return following
        self._is_waiting[waves.indices] = True
        self._release()
        return None

    def _release(self) -> None:
        """Let go the workgroups of which every wave waits or has ended."""
        if not self._is_waiting.any():
            return
        arrived = (self._is_waiting | self._has_ended).reshape(self._per_group, -1)
        free = np.tile(arrived.all(axis=0), self._per_group) & self._is_waiting
        rows = np.nonzero(free)[0]
        if not len(rows):
            return
        self._is_waiting[rows] = False
        self._tell_barrier(rows)
        resume = self._resume[rows]
        for address in np.unique(resume):
            self._add(int(address), rows[resume == address])

    def _tell_barrier(self, rows: Array) -> None:
        for observer in self.batch.observers:
            observer.on_barrier(rows, self._resume[rows])

    def _add(self, address: int, rows: Array) -> None:
        """Put waves in line at an address, together with those that are there."""
        present = self._ready.get(address)
        if present is None:
            self._ready[address] = rows
            self._since[address] = self._turn
        else:
            self._ready[address] = np.sort(np.concatenate((present, rows)))
