"""What this process may use of its machine, and the machine's names in variants."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError, ToolchainError
from kernelmill.builder.jobs import Capacity

if TYPE_CHECKING:
    from collections.abc import Mapping

_CGROUP = Path("/sys/fs/cgroup")
_CPU_NAMES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def probe_cpu() -> str:
    """Return the processor's name as variants write it.

    Raises:
        ToolchainError: the processor or the operating system has no variant that can be built.
    """
    system, machine = platform.system(), platform.machine()
    cpu = _CPU_NAMES.get(machine.lower())
    if system != "Linux" or cpu is None:
        raise ToolchainError(
            f"cannot build on {system} {machine}", hint="build on Linux, x86_64 or aarch64"
        )
    return cpu


def probe_capacity(env: Mapping[str, str]) -> Capacity:
    """Measure cores and memory, limits of the container (cgroup v2) included.

    Raises:
        PlanError: ``MAX_JOBS`` is not a number.
    """
    asked = env.get("MAX_JOBS", "")
    if asked and not asked.isdecimal():
        raise PlanError(f"MAX_JOBS is {asked!r}, not a number", hint="set MAX_JOBS=4")
    return Capacity(
        cores=_cores(), memory_bytes=_memory_bytes(), override=int(asked) if asked else None
    )


def _cores() -> int:
    cores = len(os.sched_getaffinity(0))
    quota, _, period = _read(_CGROUP / "cpu.max").partition(" ")
    if quota.isdecimal() and period.strip().isdecimal():
        cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def _memory_bytes() -> int:
    fields = dict(line.split(":", 1) for line in _read(Path("/proc/meminfo")).splitlines())
    available = int(fields.get("MemAvailable", "0 kB").split()[0]) * 1024
    limit, used = _read(_CGROUP / "memory.max").strip(), _read(_CGROUP / "memory.current").strip()
    if limit.isdecimal() and used.isdecimal():
        available = min(available, max(0, int(limit) - int(used)))
    return available


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
