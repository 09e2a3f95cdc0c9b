"""Global memory. A device pointer is an address of this process, so nothing is ever copied."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.errors import LaunchError

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array

ALIGNMENT: Final = 512
POISON_BYTE: Final = 0xFF
GUARD_BYTES: Final = 16 * 1024
"""Before and after owned memory: what runs over its end must not meet other memory."""
ADDRESS_BITS: Final = 47
"""What a Linux process has. Apertures for LDS and scratch lie above."""
REMEMBERED: Final = 1024
"""Freed allocations that a finding can still name."""
QUARANTINE_BYTES: Final = 64 << 20
"""Freed memory that is held back, so that nothing new takes its address: its use is found then."""


ORIGIN: Final = 4096
"""Where the views below begin: NumPy takes no array at address 0, and nothing lies before it."""


def _everything(width_bytes: int, dtype: type[np.generic]) -> Array:
    """Return all addresses as one array of ``dtype``; element 0 is at ``ORIGIN``."""
    count = ((1 << ADDRESS_BITS) - 2 * ORIGIN) // width_bytes
    octets = (ctypes.c_ubyte * (count * width_bytes)).from_address(ORIGIN)
    # NumPy reads any buffer; its stubs know only some.
    everything: Array = np.frombuffer(memoryview(octets), dtype=dtype)
    return everything


# NOTE: only addresses that were checked against the allocations may be touched through these.
SPACES: Final = {
    1: _everything(1, np.uint8),
    2: _everything(2, np.uint16),
    4: _everything(4, np.uint32),
    8: _everything(8, np.uint64),
    16: _everything(16, np.complex128),  # moved only, never computed with
}
"""All addresses of this process as elements of 1, 2, 4, 8 or 16 bytes."""


def elements(addresses: Array, width_bytes: int) -> Array:
    """Return the indices in ``SPACES[width_bytes]`` of aligned addresses."""
    indices = addresses - ORIGIN
    indices >>= width_bytes.bit_length() - 1
    return indices


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """A range of addresses that device code may use."""

    address: int
    size_bytes: int
    label: str
    is_writable: bool

    @property
    def end(self) -> int:
        """Return the address after the last byte."""
        return self.address + self.size_bytes

    def __str__(self) -> str:
        name = f" {self.label!r}" if self.label else ""
        return f"allocation{name} of {self.size_bytes} bytes at {self.address:#x}"


class Memory:
    """The live allocations of one device."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._live: list[Allocation] = []
        self._owned: dict[int, Array] = {}
        self._freed: list[Allocation] = []
        self._quarantine: deque[Array] = deque()
        self._quarantined_bytes = 0
        self._written: dict[int, Array] = {}
        """Start of an allocation -> 1 for each byte that was written; only where that is known."""

    def add(
        self,
        address: int,
        size_bytes: int,
        *,
        label: str = "",
        writable: bool = True,
        initialised: bool = True,
    ) -> None:
        """Make ``size_bytes`` bytes of this process at ``address`` visible to device code.

        Args:
            address: of the first byte.
            size_bytes: may be 0.
            label: what findings call it.
            writable: device code may write.
            initialised: its contents mean something. If not, ``mark_written`` says what does.

        Raises:
            LaunchError: they overlap an allocation that is there already.
        """
        if not initialised:
            self._written[address] = np.zeros(size_bytes, np.uint8)
        new = Allocation(address=address, size_bytes=size_bytes, label=label, is_writable=writable)
        place = bisect_right(self._starts, address)
        for other in self._live[max(place - 1, 0) : place + 1]:
            if other.address < new.end and address < other.end:
                raise LaunchError(f"{new} overlaps {other}")
        self._starts.insert(place, address)
        self._live.insert(place, new)

    def remove(self, address: int) -> None:
        """End the allocation that begins at ``address``: a later access is use after free.

        Raises:
            LaunchError: none begins there.
        """
        place = bisect_right(self._starts, address) - 1
        if place < 0 or self._starts[place] != address:
            raise LaunchError(f"no allocation begins at {address:#x}")
        self._freed = [*self._freed[-REMEMBERED:], self._live.pop(place)]
        self._starts.pop(place)
        self._written.pop(address, None)

    def allocate(self, size_bytes: int, *, label: str = "") -> int:
        """Return the address of new memory, aligned to 512 bytes and filled with 0xFF."""
        held = np.empty(size_bytes + 2 * GUARD_BYTES, np.uint8)
        start = GUARD_BYTES - held.ctypes.data % ALIGNMENT
        held[start : start + size_bytes] = POISON_BYTE
        address = held.ctypes.data + start
        self.add(address, size_bytes, label=label, initialised=False)
        self._owned[address] = held
        return address

    def free(self, address: int) -> None:
        """End an allocation made by ``allocate``.

        Raises:
            LaunchError: there is none at ``address``.
        """
        self.remove(address)
        held = self._owned.pop(address, None)
        if held is None:
            return
        self._quarantine.append(held)
        self._quarantined_bytes += held.size
        while self._quarantined_bytes > QUARANTINE_BYTES:
            self._quarantined_bytes -= self._quarantine.popleft().size

    def find(self, address: int) -> Allocation | None:
        """Return the live allocation that holds ``address``."""
        place = bisect_right(self._starts, address) - 1
        if place >= 0 and address < self._live[place].end:
            return self._live[place]
        return None

    def find_before(self, address: int) -> Allocation | None:
        """Return the live allocation that begins last at or before ``address``."""
        place = bisect_right(self._starts, address) - 1
        return self._live[place] if place >= 0 else None

    def find_freed(self, address: int) -> Allocation | None:
        """Return the allocation that held ``address`` last, if it was freed."""
        for old in reversed(self._freed):
            if old.address <= address < old.end:
                return old
        return None

    def spans(self, low: int, end: int, *, writing: bool) -> bool:
        """Say whether all of ``low`` to ``end`` lies in one allocation."""
        found = self.find(low)
        return found is not None and end <= found.end and (found.is_writable or not writing)

    def check(self, addresses: Array, size_bytes: int, *, writing: bool) -> Array:
        """Return for each of ``addresses`` whether ``size_bytes`` bytes from it may be used."""
        if not self._live:
            return np.zeros(addresses.shape, np.bool_)
        starts = np.array(self._starts, np.int64)
        ends = np.array([item.end for item in self._live], np.int64)
        usable = np.array([item.is_writable or not writing for item in self._live], np.bool_)
        place = np.searchsorted(starts, addresses, side="right") - 1
        inside = (place >= 0) & (addresses + size_bytes <= ends[place])
        return inside & usable[place]

    def view(self, address: int, size_bytes: int) -> Array:
        """Return ``size_bytes`` bytes from ``address`` as an array that shares their memory.

        They count as written from then on.

        Raises:
            LaunchError: they are not all inside one allocation.
        """
        if not self.spans(address, address + size_bytes, writing=False):
            raise LaunchError(f"{size_bytes} bytes at {address:#x} are not inside an allocation")
        self.mark_written(address, size_bytes)
        start = address - ORIGIN
        return SPACES[1][start : start + size_bytes]

    def mark_written(self, address: int, size_bytes: int) -> None:
        """Take note that the host wrote ``size_bytes`` bytes at ``address``."""
        found = self.find(address)
        known = self._written.get(found.address) if found else None
        if found is not None and known is not None:
            start = address - found.address
            known[start : start + size_bytes] = 1

    def unwritten(self, addresses: Array, lanes: Array, width_bytes: int) -> Array | None:
        """Return which of ``lanes`` see a byte nobody wrote; ``None`` where that is not known."""
        inside, places, known = self._places(addresses, lanes)
        if known is None:
            return None
        missing = np.zeros(len(places), np.bool_)
        for byte in range(width_bytes):
            missing |= known[places + byte] == 0
        found = np.zeros(lanes.shape, np.bool_)
        found[inside] = missing
        return found

    def mark_lanes(self, addresses: Array, lanes: Array, width_bytes: int) -> None:
        """Take note that device code wrote."""
        _, places, known = self._places(addresses, lanes)
        if known is not None:
            for byte in range(width_bytes):
                known[places + byte] = 1

    def _places(self, addresses: Array, lanes: Array) -> tuple[Array, Array, Array | None]:
        """Return the lanes in the first lane's allocation, their places in it, and its record."""
        found = self.find(int(addresses[lanes][0])) if self._written else None
        known = self._written.get(found.address) if found else None
        if found is None or known is None:
            return lanes, np.empty(0, np.int64), None
        inside = lanes & (addresses >= found.address) & (addresses < found.end)
        return inside, addresses[inside] - found.address, known
