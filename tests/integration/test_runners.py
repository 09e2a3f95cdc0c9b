"""Several variants at once: in processes, and on a real Dask cluster whose worker is killed."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest
from tests.integration.small_matrix import (
    NAMES,
    Bench,
    finish,
    is_running,
    local_cluster,
    wait_until,
    write_sdk,
)

from kernelmill.builder.cli import main
from kernelmill.builder.sdk.store import Store

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping
    from pathlib import Path

BROKEN = "#if __has_include(<broken.h>)\n#error not with this one\n#endif\n"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    write_sdk(made.store, "2.11.0", {"broken.h": ""})
    write_sdk(made.store, "2.12.0")
    yield made
    made.end()


def kill_first_worker(
    bench: Bench,
    running: subprocess.Popen[str],
    pattern: str,
    workers: Mapping[str, int] | None = None,
) -> list[str]:
    """Wait for a compiler in each worker, kill the first, let the rest go; return the lines."""
    assert running.stderr is not None
    told: list[str] = []
    while not (told and re.search(pattern, told[-1])):
        told.append(running.stderr.readline())
        assert told[-1], "".join(told)
    builds = len(workers or "1")
    wait_until(lambda: len(bench.held()) == builds, what="not every worker runs a compiler")
    held = bench.held()
    victim = re.search(pattern, told[-1])
    assert victim is not None
    os.kill(workers[victim[1]] if workers else int(victim[1]), signal.SIGKILL)
    wait_until(lambda: not all(map(is_running, held)), what="the compiler outlives its worker")
    bench.hold.unlink()
    return told


def test_variant_that_fails_does_not_stop_the_others(bench: Bench) -> None:
    (bench.kernel / "src/host.cpp").write_text(BROKEN + "int answer() { return 42; }\n")
    status, found, told = bench.build("--jobs", "2")
    assert status == 1, told
    assert [found[name]["result"] for name in NAMES] == ["failed", "built", "built"]
    assert "not with this one" in str(found[NAMES[0]]["error"])
    assert not (bench.kernel / "build" / NAMES[0]).exists()
    assert f"] building {NAMES[1]} with 1 job, against the headers of torch 2.12.0" in told
    assert "3 done, 0 running, 0 waiting" in told
    assert "2 built, 1 failed, in " in told.splitlines()[-1]
    again, found, _ = bench.build("--executor", "in-order", "--torch", "2.12")
    assert (again, found[NAMES[1]]["result"]) == (0, "built")


def test_process_that_is_killed_gives_its_variant_to_another(bench: Bench) -> None:
    bench.hold.touch()
    running = bench.start("--jobs", "1", "--torch", "2.12,2.13")
    told = kill_first_worker(bench, running, r"started by process (\d+)")
    status, found, rest = finish(running)
    assert status == 0, rest
    assert [it["result"] for it in found.values()] == ["built", "built"]
    assert f"[1/2] {NAMES[1]}: started by process" in "".join(told)
    assert f"[1/2] {NAMES[1]}: worker died by signal 9; again, by another worker" in rest


def test_interrupt_leaves_nothing_half_done(bench: Bench) -> None:
    bench.hold.touch()
    running = bench.start("--jobs", "2")
    wait_until(lambda: len(bench.held()) == 2, what="no two compilers at once")
    running.send_signal(signal.SIGINT)
    status, found, told = finish(running)
    assert (status, found) == (130, {}), told
    assert "Traceback" not in told
    assert not any(map(is_running, bench.held()))
    assert not (bench.kernel / "build").exists()
    bench.hold.unlink()
    assert bench.build("--torch", "2.12")[0] == 0, "what was left does not hinder the next"


def test_cluster_builds_the_matrix_though_a_worker_is_killed(bench: Bench, tmp_path: Path) -> None:
    (bench.kernel / "src/host.cpp").write_text(BROKEN + "int answer() { return 42; }\n")
    theirs = Store(tmp_path / "their-sdks")
    env = {**bench.env, "KERNELMILL_SDKS": str(theirs.folder)}
    with local_cluster(env, tmp_path) as (address, workers):
        bench.hold.touch()
        running = bench.start("--executor", address)
        told = kill_first_worker(bench, running, r"started by (tcp://\S+)", workers)
        status, found, rest = finish(running)
    assert status == 1, rest
    assert [found[name]["result"] for name in NAMES] == ["failed", "built", "built"]
    text = "".join(told) + rest
    assert "2 builds at once on 1 machine of Dask's" in text
    assert "sending torch-2.12.0 to tcp://127.0.0.1:" in text
    assert "worker died; again, by another worker" in text
    assert {it.record.name for it in theirs.installed()} == {"torch-2.11.0", "torch-2.12.0"}
    error = str(found[NAMES[0]]["error"])
    assert f"the whole log is in {bench.kernel}/.kernelmill/{NAMES[0]}/build.log" in error
    assert "not with this one" in (bench.kernel / f".kernelmill/{NAMES[0]}/build.log").read_text()
    remote = {it.name: it.read_bytes() for it in (bench.kernel / "build" / NAMES[1]).iterdir()}
    assert bench.build("--torch", "2.12")[0] == 0
    here = {it.name: it.read_bytes() for it in (bench.kernel / "build" / NAMES[1]).iterdir()}
    assert remote == here, "the same bytes, wherever they are made"


def test_cluster_that_does_not_answer_is_said_to_be_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kernelmill.builder.runners import dask

    monkeypatch.setattr(dask, "_TIMEOUT_S", 0.2)
    assert main(["build", str(bench.kernel), "--all", "--executor", "dask://127.0.0.1:1"]) == 3
    told = capsys.readouterr().err
    assert "kernel-builder: no Dask scheduler answers at tcp://127.0.0.1:1: " in told
    assert "hint: start one with `dask scheduler`, or correct --executor" in told
