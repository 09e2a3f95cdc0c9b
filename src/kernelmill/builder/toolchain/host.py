"""What this process may use of its machine, and the machine's names in variants."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError, ToolchainError
from kernelmill.builder.jobs import Capacity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    groups = control_groups(_read(Path("/proc/self/cgroup")), _CGROUP)
    return Capacity(
        cores=limited_cores(len(os.sched_getaffinity(0)), groups),
        memory_bytes=limited_memory(_memory_bytes(), groups),
        override=int(asked) if asked else None,
    )


def limited_cores(cores: int, folders: Iterable[Path]) -> int:
    """Return how many of ``cores`` the control groups ``folders`` leave; at least one."""
    for folder in folders:
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if quota.isdecimal() and period.strip().isdecimal():
            cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def limited_memory(available: int, folders: Iterable[Path]) -> int:
    """Return how many of the ``available`` bytes the control groups ``folders`` leave."""
    for folder in folders:
        limit = _read(folder / "memory.max").strip()
        used = _read(folder / "memory.current").strip()
        if limit.isdecimal() and used.isdecimal():
            available = min(available, max(0, int(limit) - int(used)))
    return available


def control_groups(membership: str, root: Path) -> tuple[Path, ...]:
    """Return the folders of this process's group and of those around it, outermost first.

    Args:
        membership: the text of ``/proc/self/cgroup``; its line ``0::/path`` names the group.
        root: where control groups (version 2) are mounted.
    """
    paths = [line[3:] for line in membership.splitlines() if line.startswith("0::/")]
    parts = [part for part in "".join(paths[:1]).split("/") if part not in {"", "..", "."}]
    return tuple(root.joinpath(*parts[:count]) for count in range(len(parts) + 1))


def _memory_bytes() -> int:
    fields = dict(line.split(":", 1) for line in _read(Path("/proc/meminfo")).splitlines())
    return int(fields.get("MemAvailable", "0 kB").split()[0]) * 1024


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
