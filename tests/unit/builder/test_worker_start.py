"""A machine that starts no process more."""

from __future__ import annotations

import errno
import subprocess
from typing import TYPE_CHECKING, NoReturn

from tests.unit.builder.test_runners import JOBS

from kernelmill.builder.runners import Message, WorkerDied
from kernelmill.builder.runners.processes import Processes
from kernelmill.builder.runners.running import Event, run_jobs

if TYPE_CHECKING:
    import pytest


def test_worker_that_cannot_be_started_fails_its_job_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_args: object, **_options: object) -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    events: list[Event] = []
    with Processes(compilers=1) as runner:
        outcomes = run_jobs(JOBS, runner, events.append)
    assert [it.result for it in outcomes] == ["failed"] * len(JOBS)
    problem = "cannot start a worker: Resource temporarily unavailable"
    assert {str(it.error).partition("\n")[0] for it in outcomes} == {problem}
    assert all(isinstance(it.error, WorkerDied) for it in outcomes)
    again = [it.index for it in events if it.news == Message("again", problem)]
    assert sorted(again) == list(range(len(JOBS)))
