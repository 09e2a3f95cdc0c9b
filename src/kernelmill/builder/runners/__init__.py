"""Where jobs run: in processes of this machine, or on the machines of a Dask cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from kernelmill.spec.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from kernelmill.builder.job import Job, Outcome


@dataclass(frozen=True, slots=True)
class Message:
    """What a worker says while it runs a job."""

    kind: Literal["started", "told", "line", "again"]
    """``started``: ``text`` is the worker's name. ``told``: a sentence about the build. ``line``:
    one of a tool. ``again``: a worker died, and another takes over."""
    text: str


class WorkerDied(HostError):
    """A worker ended before its job did: killed, or its machine is gone."""


class Runner(Protocol):
    """Runs jobs elsewhere. Used as a context manager; leaving it stops what still runs."""

    retries: int
    """How often to submit a job again whose worker died; 0: the runner does that itself."""

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Do what has to be done before the first of ``jobs``."""

    def submit(
        self, job: Job, *, waiting: int, tell: Callable[[Message], None]
    ) -> Future[object] | None:
        """Start a job when there is room for it.

        Args:
            job: what to do.
            waiting: how many jobs there are to share what is free, this one included.
            tell: called with every message, in any thread.
        """

    def settle(self, job: Job, future: Future[object]) -> Outcome:
        """Return what became of a job that is done.

        Raises:
            WorkerDied: its worker did not live to say.
        """
