"""The other end of a worker: start it, hear what it says, and clean up when it dies."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from kernelmill.builder.job import Job, Outcome
from kernelmill.builder.runners import Message, WorkerDied
from kernelmill.builder.runners.session import end_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MODULE: Final = "kernelmill.builder.runners.worker"
_NONSENSE: Final = (
    *(pickle.UnpicklingError, AttributeError, ImportError),
    *(IndexError, KeyError, TypeError, ValueError),
)
"""What reading a pickle raises for bytes that are none, all of it as the documentation warns."""
HINT: Final = "if memory ran out, run fewer compilers at once: --jobs 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a worker is given."""

    job: Job
    is_verbose: bool
    """Whether to pass on everything that the tools print, or the steps only."""


class Child:
    """A worker process of this machine."""

    def __init__(self, order: Order) -> None:
        """Start the worker.

        Raises:
            WorkerDied: the system starts no process more.
        """
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker is done
        self._is_ended = threading.Event()
        env = {**order.job.env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = self._start(env)
        self._order = order

    def _start(self, env: dict[str, str]) -> subprocess.Popen[bytes]:
        # -P: no module comes from the folder that we happen to be in, which may be the kernel's.
        try:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._noise,
                env=env,
                start_new_session=True,  # Ctrl-C of a terminal is for the process that waits
            )
        except OSError as error:
            self._noise.close()
            raise WorkerDied(f"cannot start a worker: {error.strerror}", hint=HINT) from error

    @property
    def name(self) -> str:
        """The worker's name."""
        return f"process {self._process.pid}"

    def run(self, tell: Callable[[Message], None]) -> Outcome:
        """Return what became of the job.

        Raises:
            WorkerDied: the worker ended before it could say.
        """
        tell(Message("started", self.name))
        try:
            self._send_order()
            for answer in self._answers():
                if isinstance(answer, Outcome):
                    return answer
                tell(answer)
            raise self._death()
        finally:
            self.end()
            self._close()

    def end(self) -> None:
        """End the worker with its compilers, whatever it is doing."""
        if not self._is_ended.is_set():
            self._is_ended.set()
            end_session(self._process.pid)

    def _send_order(self) -> None:
        stdin = _require(self._process.stdin)
        try:
            pickle.dump(self._order, stdin)
            stdin.flush()  # and left open: its end is what ends the worker
        except BrokenPipeError:
            raise self._death() from None

    def _answers(self) -> Iterator[Message | Outcome]:
        stdout = _require(self._process.stdout)
        while True:
            try:
                yield pickle.load(stdout)
            except EOFError:
                return
            except _NONSENSE as error:
                self.end()  # it may go on for ever, waiting for this end to go away
                raise WorkerDied(
                    f"worker says what nobody understands: {error}",
                    hint="let nothing print when Python starts, such as a sitecustomize.py",
                ) from error

    def _death(self) -> WorkerDied:
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self.end()  # before its number may become another's
        status = self._process.wait()
        reason = f"by signal {-status}" if status < 0 else f"with status {status}"
        self._noise.seek(0)
        said = self._noise.read().decode(errors="replace").strip().rpartition("\n")[2]
        return WorkerDied(f"worker died {reason}{f': {said}' if said else ''}", hint=HINT)

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._process.wait()
        self._noise.close()


def _require(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None, "Popen was asked for it"
    return pipe
