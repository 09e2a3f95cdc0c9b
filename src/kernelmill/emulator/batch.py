"""The workgroups that run together: their registers, local memory and scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.errors import DeviceFault
from kernelmill.emulator.observer import Touch
from kernelmill.emulator.registers import Registers
from kernelmill.emulator.sources import APERTURE_LIMIT, PRIVATE_APERTURE, SHARED_APERTURE

if TYPE_CHECKING:
    from kernelmill.emulator.memory import Memory
    from kernelmill.emulator.observer import Observer, Site
    from kernelmill.emulator.registers import Waves

POISON_BYTE = 0xFF
SCRATCH_ALIGNMENT = 16
SINK_BYTES = 64


class Batch:
    """Some workgroups of one launch."""

    def __init__(
        self,
        memory: Memory,
        *,
        workgroups: Array,
        waves_per_group: int,
        vectors: int,
        lds_bytes: int,
        private_bytes: int,
    ) -> None:
        self.memory = memory
        self.workgroups = workgroups
        """Flat numbers of the workgroups in the launch."""
        self.groups = len(workgroups)
        self.waves = self.groups * waves_per_group
        self.registers = Registers(vectors=vectors, waves=self.waves)
        rows = np.arange(self.waves)
        self.group_of = rows % self.groups
        """Of each row, the workgroup's place in the batch."""
        self.wave_of = rows // self.groups
        """Of each row, the wave's number in its workgroup."""
        self.lds_bytes = lds_bytes
        self.lds = np.full((self.groups, max(-(-lds_bytes // 16) * 16, 16)), POISON_BYTE, np.uint8)
        stride = -(-private_bytes // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
        self.private_bytes = private_bytes
        self.scratch = np.full((self.waves, LANES, stride), POISON_BYTE, np.uint8)
        self._lds_start = self.lds.ctypes.data + self.group_of * self.lds.shape[1]
        lanes = np.arange(self.waves * LANES, dtype=np.int64).reshape(self.waves, LANES)
        self._scratch_start = self.scratch.ctypes.data + lanes * stride
        self._ticks = 0
        self.observers: tuple[Observer, ...] = ()
        self.has_acquired = np.zeros(self.waves, np.bool_)
        """Which waves made an acquire that other workgroups can answer."""
        self._sink = np.full(SINK_BYTES, POISON_BYTE, np.uint8)

    def tick(self) -> int:
        """Return a number larger than the one before."""
        self._ticks += 1
        return self._ticks

    def lds_start(self, w: Waves) -> Array:
        """Return the host address of each wave's LDS: int64 [wave, 1]."""
        return self._lds_start[w.rows][:, None]

    def scratch_start(self, w: Waves) -> Array:
        """Return the host address of each lane's scratch: int64 [wave, lane]."""
        return self._scratch_start[w.rows]

    def resolve_flat(self, w: Waves, addresses: Array) -> tuple[Array, Array]:
        """Return host addresses for flat ones, and which of them are global: bool [wave, lane]."""
        if int(addresses.max()) < SHARED_APERTURE:
            return addresses, np.ones(addresses.shape, np.bool_)
        is_shared = (addresses >= SHARED_APERTURE) & (addresses <= SHARED_APERTURE + APERTURE_LIMIT)
        is_private = (addresses >= PRIVATE_APERTURE) & (
            addresses <= PRIVATE_APERTURE + APERTURE_LIMIT
        )
        self._check_size(addresses, is_shared, SHARED_APERTURE, self.lds.shape[1], "LDS")
        self._check_size(addresses, is_private, PRIVATE_APERTURE, self.private_bytes, "scratch")
        host = np.where(is_shared, addresses - SHARED_APERTURE + self.lds_start(w), addresses)
        host = np.where(is_private, addresses - PRIVATE_APERTURE + self.scratch_start(w), host)
        return host, ~(is_shared | is_private)

    @staticmethod
    def _check_size(addresses: Array, chosen: Array, base: int, size: int, what: str) -> None:
        wild = chosen & (addresses - base >= size)
        if wild.any():
            first = int(addresses[wild][0]) - base
            raise DeviceFault(f"a flat access at byte {first} of {what}, which has {size}")

    def check_global(
        self, w: Waves, site: Site, addresses: Array, lanes: Array | None = None
    ) -> Array | None:
        """Return ``addresses`` with those of inactive lanes made harmless; ``None`` if all are.

        Args:
            w: the waves.
            site: what accesses memory.
            addresses: int64 [wave, lane].
            lanes: the lanes that count; all active ones by default.

        Raises:
            DeviceFault: an active lane's bytes are not all in one allocation.
        """
        is_full = lanes is None and w.is_full
        chosen = w.lanes if lanes is None else lanes
        active = addresses if is_full else addresses[chosen]
        if not active.size:
            return None
        low, end = int(active.min()), int(active.max()) + site.width_bytes
        writing = site.access != "read"
        if not self.memory.spans(low, end, writing=writing):
            wild = chosen & ~self.memory.check(addresses, site.width_bytes, writing=writing)
            if wild.any():
                self._report_wild(Touch(waves=w, site=site, addresses=addresses, lanes=wild))
                addresses = np.where(wild, self._sink.ctypes.data, addresses)
                chosen = chosen & ~wild
                low = self._sink.ctypes.data
        if self.observers and chosen.any():
            touch = Touch(waves=w, site=site, addresses=addresses, lanes=chosen)
            for observer in self.observers:
                observer.on_global(touch)
        return (
            addresses if is_full else np.where(w.lanes if lanes is None else lanes, addresses, low)
        )

    def _report_wild(self, touch: Touch) -> None:
        """Return if an observer wants to go on; such accesses then lead to memory nobody uses."""
        going_on = [observer.on_wild(touch) for observer in self.observers]
        if any(going_on):
            return
        wave, lane = (int(place[0]) for place in np.nonzero(touch.lanes))
        address, row = int(touch.addresses[wave, lane]), int(touch.waves.indices[wave])
        raise DeviceFault(
            f"{touch.site}: {touch.site.access} of {touch.site.width_bytes} bytes at {address:#x}"
            " is outside every allocation",
            where=f"workgroup {int(self.workgroups[self.group_of[row]])},"
            f" work-item {int(self.wave_of[row]) * LANES + lane}",
            hint=self.neighbour(address),
        )

    def neighbour(self, address: int) -> str:
        """Say which allocation is near an address."""
        if old := self.memory.find_freed(address):
            return f"inside the freed {old}"
        if near := self.memory.find_before(address):
            return f"{address - near.end} bytes after the end of the {near}"
        return "no allocation lies before it"
