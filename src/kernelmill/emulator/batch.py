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
    from collections.abc import Callable

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
        source_of: Callable[[int], str] = lambda _: "",
    ) -> None:
        self.memory = memory
        self.source_of = source_of
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

    def resolve_flat(self, w: Waves, site: Site, addresses: Array) -> tuple[Array, Array]:
        """Return host addresses for flat ones, and which of them are global: bool [wave, lane].

        Raises:
            DeviceFault: an active lane is outside LDS or scratch, in their apertures.
        """
        if int(addresses.max()) < SHARED_APERTURE:
            return addresses, np.ones(addresses.shape, np.bool_)
        shared, private = addresses - SHARED_APERTURE, addresses - PRIVATE_APERTURE
        is_shared = (shared >= 0) & (shared <= APERTURE_LIMIT)
        is_private = (private >= 0) & (private <= APERTURE_LIMIT)
        _check_aperture(site, shared, is_shared, self.lds_bytes, "LDS")
        _check_aperture(site, private, is_private, self.private_bytes, "scratch memory")
        if self.observers and (lanes := is_shared & w.lanes).any():
            touch = Touch(waves=w, site=site, addresses=np.where(lanes, shared, 0), lanes=lanes)
            for observer in self.observers:
                observer.on_lds(touch)
        host = np.where(is_shared, shared + self.lds_start(w), addresses)
        host = np.where(is_private, private + self.scratch_start(w), host)
        return host, ~(is_shared | is_private)

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
        source = self.source_of(touch.site.decoded.instruction.address)
        who = (
            f"workgroup {int(self.workgroups[self.group_of[row]])},"
            f" work-item {int(self.wave_of[row]) * LANES + lane}"
        )
        raise DeviceFault(
            f"{touch.site}: {touch.site.access} of {touch.site.width_bytes} bytes at {address:#x}"
            " is outside every allocation",
            where=f"{source} {who}".lstrip(),
            hint=self.neighbour(address),
        )

    def neighbour(self, address: int) -> str:
        """Say which allocation is near an address."""
        if old := self.memory.find_freed(address):
            return f"inside the freed {old}"
        if near := self.memory.find_before(address):
            return f"{address - near.end} bytes after the end of the {near}"
        return "no allocation lies before it"


def _check_aperture(site: Site, place: Array, chosen: Array, size: int, what: str) -> None:
    wild = chosen & (place + site.width_bytes > size)
    if wild.any():
        first = int(place[wild][0])
        raise DeviceFault(
            f"{site}: {site.access} of {site.width_bytes} bytes at {first} of {what},"
            f" which has {size}"
        )
