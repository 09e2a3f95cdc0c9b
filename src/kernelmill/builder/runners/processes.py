"""Jobs in processes of this machine, as many as there are cores and memory for their compilers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from kernelmill.builder.runners.budget import Budget
from kernelmill.builder.runners.child import Child, Order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from typing import Self

    from kernelmill.builder.job import Job, Outcome
    from kernelmill.builder.runners import Message


class Processes:
    """A worker for each job that runs. The threads of the executor do nothing but listen."""

    retries = 1

    def __init__(self, *, compilers: int, is_verbose: bool = False) -> None:
        self._budget = Budget(compilers)
        self._executor = ThreadPoolExecutor(max_workers=max(1, compilers))
        self._is_verbose = is_verbose
        self._lock = threading.Lock()
        self._children: set[Child] = set()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
            children = tuple(self._children)
        for child in children:
            child.end()
        self._executor.shutdown(cancel_futures=True)

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Nothing has to be done before."""

    def submit(
        self, job: Job, *, waiting: int, tell: Callable[[Message], None]
    ) -> Future[object] | None:
        """Start a job when there is room for it; see ``Runner``."""
        share = self._budget.take(waiting=waiting)
        if not share:
            return None
        job = replace(job, env={**job.env, "MAX_JOBS": str(share)})
        future: Future[object] = self._executor.submit(self._run, job, tell)
        future.add_done_callback(lambda _: self._budget.give_back(share))
        return future

    def settle(self, job: Job, future: Future[object]) -> Outcome:  # noqa: ARG002 - of the protocol
        """Return what became of a job; see ``Runner``."""
        return cast("Outcome", future.result())

    def _run(self, job: Job, tell: Callable[[Message], None]) -> Outcome:
        with self._lock:  # none is started that nobody would end
            if self._is_closed:
                raise RuntimeError("the runner was left")
            child = Child(Order(job=job, is_verbose=self._is_verbose))
            self._children.add(child)
        try:
            return child.run(tell)
        finally:
            with self._lock:
                self._children.discard(child)
