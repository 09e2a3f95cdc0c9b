"""Run many jobs, and hear of all that happens to each: one that fails does not stop the others."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from kernelmill.builder.job import Outcome
from kernelmill.builder.runners import Message, WorkerDied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from kernelmill.builder.job import Job
    from kernelmill.builder.runners import Runner


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one job: something was said of it, or it is done."""

    index: int
    """Of the job."""
    news: Message | Outcome


@dataclass(frozen=True, slots=True)
class _Done:
    future: Future[object]


_News = SimpleQueue[tuple[int, Message | _Done]]


def run_jobs(
    jobs: Sequence[Job], runner: Runner, on_event: Callable[[Event], None]
) -> tuple[Outcome, ...]:
    """Return what became of each job, in their order.

    A job whose worker died is given to another, ``runner.retries`` times, and then has failed.

    Args:
        jobs: what to do.
        runner: who does it.
        on_event: called in this thread with everything that happens.
    """
    runner.prepare(jobs)
    waiting = deque(range(len(jobs)))
    lost: Counter[int] = Counter()
    outcomes: dict[int, Outcome] = {}
    news: _News = SimpleQueue()
    while len(outcomes) < len(jobs):
        while waiting:
            index = waiting[0]
            tell = partial(_post, news, index)
            future = runner.submit(jobs[index], waiting=len(waiting), tell=tell)
            if future is None:
                break
            waiting.popleft()
            future.add_done_callback(partial(_finish, news, index))
        index, item = news.get()
        if isinstance(item, Message):
            on_event(Event(index, item))
            continue
        try:
            outcome = runner.settle(jobs[index], item.future)
        except WorkerDied as error:
            lost[index] += 1
            if lost[index] <= runner.retries:
                waiting.append(index)
                on_event(Event(index, Message("again", error.problem)))
                continue
            outcome = Outcome(result="failed", variant=str(jobs[index].goal), error=error)
        outcomes[index] = outcome
        on_event(Event(index, outcome))
    return tuple(outcomes[index] for index in range(len(jobs)))


def _post(news: _News, index: int, message: Message) -> None:
    news.put((index, message))


def _finish(news: _News, index: int, future: Future[object]) -> None:
    news.put((index, _Done(future)))
