"""What others do with device memory: torch allocates, frees and writes without asking us."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class MemoryChangeKind(IntEnum):
    """What happened. The numbers are those of the device's C++ part."""

    FREED = 0
    ALLOCATED = 1
    """With contents that mean something."""
    ALLOCATED_FRESH = 2
    WRITTEN = 3
    """An operator had it in its hands: from now on its contents mean something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """One event."""

    kind: MemoryChangeKind
    address: int
    size_bytes: int
    """0 unless allocated."""
