"""How many compilers may run at once."""

from __future__ import annotations

from kernelmill.spec.values import dataclass

JOB_BYTES = 2 * 1024**3
"""For one C++ file that includes all of torch's headers: g++ 12 takes 1.2 GB at its peak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What this process may use, limits of its container included."""

    cores: int
    memory_bytes: int
    override: int | None = None
    """What the user asked for in ``MAX_JOBS``."""


def job_count(capacity: Capacity) -> int:
    """Return how many compilers may run at once: as many as have both a core and memory."""
    if capacity.override is not None:
        return max(1, capacity.override)
    return max(1, min(capacity.cores, capacity.memory_bytes // JOB_BYTES))
