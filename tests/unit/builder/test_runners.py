from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from tests.unit.builder.test_job import site

from kernelmill.builder.cli.progress import PlainWatcher, TerminalWatcher
from kernelmill.builder.cli.summary import status_of
from kernelmill.builder.errors import CompileError, PlanError, SdkError
from kernelmill.builder.job import Job, Outcome
from kernelmill.builder.request import Goal
from kernelmill.builder.runners import Message, WorkerDied
from kernelmill.builder.runners.budget import Budget
from kernelmill.builder.runners.choice import open_runner, parse_executor
from kernelmill.builder.runners.processes import Processes
from kernelmill.builder.runners.running import Event, run_jobs
from kernelmill.spec.errors import HostError
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAMES = [f"torch{it}-cxx11-cpu-x86_64-linux" for it in ("211", "212", "213")]


def goal(name: str) -> Goal:
    variant = parse_variant(name)
    assert isinstance(variant, ArchVariant)
    return Goal.of(variant)


JOBS = [Job(root=Path("/k"), goal=goal(name), env={}, python="py") for name in NAMES]
BUILT = [Outcome(result="built", variant=name, seconds=1.0) for name in NAMES]
FAILED = Outcome(
    result="failed", variant=NAMES[1], error=CompileError("the build failed", hint="see the log")
)
ABSENT = Outcome(result="unavailable", variant=NAMES[0], error=SdkError("the SDK is not here"))
UNWANTED = Outcome(result="unavailable", variant=NAMES[0], error=PlanError("not of this kernel"))


@pytest.mark.parametrize(
    ("compilers", "builds", "shares"),
    [
        pytest.param(2, 12, [1, 1, 0], id="no-more-than-there-are"),
        pytest.param(16, 3, [5, 5, 6], id="all-are-used"),
        pytest.param(16, 12, [1] * 8 + [2] * 4, id="none-is-left"),
        pytest.param(1, 1, [1], id="one"),
        pytest.param(0, 2, [1, 0], id="at-least-one"),
    ],
)
def test_builds_share_the_compilers(compilers: int, builds: int, shares: list[int]) -> None:
    """C11: builds at once times compilers in each never exceeds what the machine has."""
    budget = Budget(compilers)
    assert [budget.take(waiting=builds - it) for it in range(len(shares))] == shares
    assert sum(shares) <= max(1, compilers)


def test_compilers_of_a_build_that_is_done_go_to_the_next() -> None:
    budget = Budget(4)
    assert [budget.take(waiting=2), budget.take(waiting=1), budget.take(waiting=1)] == [2, 2, 0]
    budget.give_back(2)
    assert budget.take(waiting=1) == 2


class Script:
    """A runner that does what is written for each variant, the last to be submitted first."""

    def __init__(self, results: dict[str, list[Outcome | WorkerDied]], *, room: int = 2) -> None:
        self.results, self.room = results, room
        self.retries = 1
        self.running: list[tuple[Job, Future[object]]] = []
        self.most = 0

    def prepare(self, jobs: Sequence[Job]) -> None:
        assert list(jobs) == JOBS

    def submit(
        self, job: Job, *, waiting: int, tell: Callable[[Message], None]
    ) -> Future[object] | None:
        if len(self.running) == self.room:
            self._finish()
            return None
        tell(Message("started", "here"))
        future: Future[object] = Future()
        self.running.append((job, future))
        self.most = max(self.most, len(self.running))
        if waiting == 1:
            while self.running:
                self._finish()
        return future

    def settle(self, job: Job, future: Future[object]) -> Outcome:  # noqa: ARG002 - of Runner
        return cast("Outcome", future.result())

    def _finish(self) -> None:
        job, future = self.running.pop()
        result = self.results[str(job.goal)].pop(0)
        if isinstance(result, WorkerDied):
            future.set_exception(result)
        else:
            future.set_result(result)


def run_script(**changes: list[Outcome | WorkerDied]) -> tuple[tuple[Outcome, ...], list[Event]]:
    results: dict[str, list[Outcome | WorkerDied]] = {it.variant: [it] for it in BUILT}
    results |= {f"torch{name[1:]}-cxx11-cpu-x86_64-linux": it for name, it in changes.items()}
    events: list[Event] = []
    return run_jobs(JOBS, Script(results), events.append), events


def test_outcomes_come_in_the_order_of_the_jobs_and_one_failure_stops_nothing() -> None:
    outcomes, events = run_script(t212=[FAILED])
    assert outcomes == (BUILT[0], FAILED, BUILT[2])
    assert [it.index for it in events if isinstance(it.news, Outcome)] != [0, 1, 2]
    assert sum(it.news == Message("started", "here") for it in events) == 3


def test_job_of_a_worker_that_died_is_given_to_another_once() -> None:
    died = WorkerDied("worker died by signal 9")
    outcomes, events = run_script(t211=[died, BUILT[0]])
    assert outcomes == tuple(BUILT)
    assert Event(0, Message("again", "worker died by signal 9")) in events
    outcomes, events = run_script(t211=[died, died])
    assert [it.result for it in outcomes] == ["failed", "built", "built"]
    assert (outcomes[0].variant, outcomes[0].error) == (NAMES[0], died)


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        pytest.param(BUILT, 0, id="all-built"),
        pytest.param([BUILT[0], FAILED, ABSENT], 1, id="wrong-sources"),
        pytest.param([BUILT[0], ABSENT], 3, id="only-the-machine-lacks-something"),
        pytest.param([UNWANTED, ABSENT], 2, id="wrong-input"),
    ],
)
def test_status_is_that_of_the_errors(outcomes: list[Outcome], status: int) -> None:
    assert status_of(outcomes) == status


@pytest.mark.parametrize(
    "text", ["process", "dask://host", "dask://host:x", "dask://a b:1", "tcp://host:1", ""]
)
def test_word_that_names_no_runner_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is neither processes, in-order nor dask://HOST"):
        parse_executor(text)


@pytest.mark.parametrize(
    "text", ["processes", "in-order", "dask://host:8786", "dask+tls://[::1]:8786/"]
)
def test_word_that_names_a_runner_is_taken(text: str) -> None:
    assert parse_executor(text) == text


def test_lines_say_what_runs_and_waits(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = PlainWatcher(NAMES)
    watcher.show(Event(1, Message("started", "process 42")))
    watcher.show(Event(1, Message("told", f"building {NAMES[1]} with 1 job, against torch")))
    watcher.show(Event(1, Message("line", "[1/2] compile \x1b[31mrelu.cpp")))
    watcher.show(Event(1, Message("again", "worker died by signal 9")))
    watcher.show(Event(1, FAILED))
    watcher.show(Event(0, BUILT[0]))
    assert capsys.readouterr().err.splitlines() == [
        f"[2/3] {NAMES[1]}: started by process 42",
        f"[2/3] building {NAMES[1]} with 1 job, against torch",
        f"[2/3] {NAMES[1]}: [1/2] compile \\x1b[31mrelu.cpp",
        f"[2/3] {NAMES[1]}: worker died by signal 9; again, by another worker",
        f"[2/3] {NAMES[1]}: the build failed",
        "  hint: see the log",
        "1 done, 0 running, 2 waiting",
        "2 done, 0 running, 1 waiting",
    ]


def test_terminal_shows_each_build_that_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalWatcher(NAMES) as watcher:
        watcher.show(Event(1, Message("started", "process 42")))
        watcher.show(Event(1, Message("line", "[1/2] compile [red]relu.cpp")))
        watcher.show(Event(1, FAILED))
        watcher.show(Event(0, BUILT[0]))
    shown = capsys.readouterr().err.splitlines()
    assert f"{NAMES[1]}  failed: the build failed" in shown
    assert f"{NAMES[0]}  built in 1.0 s" in shown


def test_dask_that_is_not_installed_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "kernelmill.builder.runners.dask", None)
    with pytest.raises(HostError, match=r"cannot speak to Dask: .*\n.*hint: pip install .*dask"):
        open_runner("dask://host:1", site(tmp_path))


def test_processes_are_used_by_name(tmp_path: Path) -> None:
    with open_runner("processes", site(tmp_path)) as runner:
        assert isinstance(runner, Processes)
