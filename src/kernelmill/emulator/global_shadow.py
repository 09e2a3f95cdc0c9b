"""Who touched which byte of global memory during a launch, to find races between waves.

A stamp says: workgroup, wave, epoch (how many barriers the workgroup has passed). Two accesses of
one byte, one of them a write, race unless they are by the same wave, or by the same workgroup in
different epochs. A wave that made an acquire at the device's scope may read what others wrote, and
write what they read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.readers import EPOCH_BITS, GROUP_BITS, WAVE_BITS, Readers

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.batch import Batch
    from kernelmill.emulator.memory import Allocation, Memory
    from kernelmill.emulator.observer import Access, Touch
    from kernelmill.emulator.program import Decoded
    from kernelmill.emulator.registers import Waves

ATOMIC: Final = np.uint32(1 << 31)
EPOCHS: Final = (1 << EPOCH_BITS) - 1
LARGEST: Final = 256 << 20
"""Bytes of an allocation that is watched; stamps take four times as much."""


class GlobalShadow:
    """The stamps of one launch."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._stamps: dict[int, Array] = {}
        """Start of an allocation -> a stamp for each byte; only where something was written."""
        self._epochs: dict[int, Array] = {}
        self._readers = Readers()

    def _epoch(self, batch: Batch) -> Array:
        known = self._epochs.get(id(batch))
        if known is None:
            self._epochs = {id(batch): np.zeros(batch.groups, np.uint32)}
            known = self._epochs[id(batch)]
        return known

    def next_epoch(self, batch: Batch, groups: Array) -> None:
        """Take note that workgroups passed a barrier."""
        self._epoch(batch)[groups] += 1

    def touch(self, batch: Batch, touch: Touch) -> tuple[Array, str] | None:
        """Note an access; return the lanes that race and why, or ``None``."""
        access, addresses, lanes = touch.site.access, touch.addresses, touch.lanes
        allocation = self._memory.find(int(addresses[lanes][0]))
        if allocation is None or allocation.size_bytes > LARGEST or not allocation.is_writable:
            return None
        inside = (addresses >= allocation.address) & (addresses < allocation.end) & lanes
        wave = np.broadcast_to(np.arange(len(lanes))[:, None], lanes.shape)[inside]
        own, places = self._own(batch, touch.waves)[wave], addresses[inside] - allocation.address
        clash = self._clash(allocation, places, own, touch)
        if clash is None:
            return None
        if access != "atomic":
            clash &= ~batch.has_acquired[touch.waves.rows][wave]
        if not clash.any():
            return None
        found = np.zeros(lanes.shape, np.bool_)
        found[inside] = clash
        verb = "reads" if access == "read" else "writes"
        other = "writes" if access == "read" else "reads or writes"
        return found, f"{verb} global memory that another wave {other}, without order between them"

    def _clash(
        self, allocation: Allocation, places: Array, own: Array, touch: Touch
    ) -> Array | None:
        """Note the access of each lane [n]; return which of them race."""
        access, width = touch.site.access, touch.site.width_bytes
        if access == "read" and not _is_ordered(touch.site.decoded):
            self._readers.note(allocation, places, width, own)
        stamps = self._stamps_of(allocation, access)
        if stamps is None:
            return None
        clash = np.zeros(len(places), np.bool_)
        if access == "write" and not _is_ordered(touch.site.decoded):
            clash |= self._readers.clash(allocation, places, width, own)
        marked = own | ATOMIC if access == "atomic" else own
        for byte in range(0, width, _step(width)):
            clash |= self._touch_byte(stamps, places + byte, marked, access)
        return clash

    def _touch_byte(self, stamps: Array, places: Array, own: Array, access: Access) -> Array:
        before = stamps[places]
        clash = _races(before, own)
        if access == "read":
            return clash
        stamps[places] = own
        # Another lane of this very instruction may have written to the same byte.
        return clash | _races(stamps[places], own)

    def _stamps_of(self, allocation: Allocation, access: Access) -> Array | None:
        known = self._stamps.get(allocation.address)
        if known is None and access != "read":
            known = self._stamps[allocation.address] = np.zeros(allocation.size_bytes, np.uint32)
        return known

    def _own(self, batch: Batch, w: Waves) -> Array:
        group = batch.group_of[w.rows]
        number = batch.workgroups[group].astype(np.uint32) & np.uint32((1 << GROUP_BITS) - 1)
        epoch = self._epoch(batch)[group] & np.uint32(EPOCHS)
        wave = batch.wave_of[w.rows].astype(np.uint32)
        # One more than the wave, so that no stamp is 0: that is a byte nobody touched.
        packed = (number << np.uint32(EPOCH_BITS)) | epoch
        return (packed << np.uint32(WAVE_BITS)) | (wave + np.uint32(1))


def _is_ordered(decoded: Decoded) -> bool:
    """Say whether a load or store reaches past its own wave: an atomic or a volatile one."""
    return "sc0" in decoded.modifiers or "sc1" in decoded.modifiers


def _step(width: int) -> int:
    """Return which bytes of an access are stamped: every second one, if there is one."""
    return min(width, 2)


def _races(before: Array, own: Array) -> Array:
    """Say where two stamps race."""
    both_atomic = (before & own & ATOMIC) != 0
    a, b = before & ~ATOMIC, own & ~ATOMIC
    same_group = (a >> np.uint32(EPOCH_BITS + WAVE_BITS)) == (
        b >> np.uint32(EPOCH_BITS + WAVE_BITS)
    )
    same_epoch = ((a ^ b) >> np.uint32(WAVE_BITS) & np.uint32(EPOCHS)) == 0
    result: Array = (before != 0) & (a != b) & ~both_atomic & (~same_group | same_epoch)
    return result
