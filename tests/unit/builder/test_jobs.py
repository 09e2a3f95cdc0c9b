from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.errors import PlanError
from kernelmill.builder.jobs import Capacity, job_count
from kernelmill.builder.toolchain import host
from kernelmill.builder.toolchain.host import probe_capacity

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1024**3


@pytest.mark.parametrize(
    ("cores", "gib", "override", "jobs"),
    [
        pytest.param(16, 16, None, 8, id="memory-is-short"),
        pytest.param(4, 64, None, 4, id="cores-are-few"),
        pytest.param(4, 1, None, 1, id="at-least-one"),
        pytest.param(4, 1, 12, 12, id="the-user-decides"),
        pytest.param(4, 64, 0, 1, id="zero-is-one"),
    ],
)
def test_job_count(cores: int, gib: int, override: int | None, jobs: int) -> None:
    capacity = Capacity(cores=cores, memory_bytes=gib * GIB, override=override)
    assert job_count(capacity) == jobs


def test_probe_capacity_measures_something_and_reads_max_jobs() -> None:
    capacity = probe_capacity({"MAX_JOBS": "3"})
    assert capacity.cores >= 1
    assert capacity.memory_bytes > 0
    assert capacity.override == 3


def test_probe_capacity_keeps_to_the_limits_of_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"cpu.max": "100000 100000", "memory.max": "3000000", "memory.current": "1000000"}
    for name, text in limits.items():
        (tmp_path / name).write_text(f"{text}\n")
    monkeypatch.setattr(host, "_CGROUP", tmp_path)
    assert probe_capacity({}) == Capacity(cores=1, memory_bytes=2_000_000)
    for name in ("cpu.max", "memory.max"):
        (tmp_path / name).write_text("max\n")
    assert probe_capacity({}).memory_bytes > 2_000_000


def test_probe_capacity_refuses_a_word() -> None:
    with pytest.raises(PlanError, match="MAX_JOBS is 'all', not a number"):
        probe_capacity({"MAX_JOBS": "all"})
