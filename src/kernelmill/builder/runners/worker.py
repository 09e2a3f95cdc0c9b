"""A worker: ``python -m kernelmill.builder.runners.worker`` builds one variant.

The job comes on the standard input, which stays open as long as somebody waits for the answer: when
it ends, so does the worker, with every compiler that it started. Messages, and last the outcome, go
to the standard output. Both ends are the same program on the same machine, so both are pickles.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO

from kernelmill.builder.compile import step_of
from kernelmill.builder.job import run_job
from kernelmill.builder.runners import Message
from kernelmill.builder.runners.session import end_session

if TYPE_CHECKING:
    from kernelmill.builder.runners.child import Order


def main() -> None:
    """Run the job that the standard input holds."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not print into the answers
    order: Order = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_reader, daemon=True).start()
    outcome = run_job(
        order.job,
        tell=lambda text: _send(answers, Message("told", text)),
        on_line=lambda line: _send_line(answers, line, is_verbose=order.is_verbose),
    )
    _send(answers, outcome)


def _send_line(answers: BinaryIO, line: str, *, is_verbose: bool) -> None:
    if shown := line.rstrip() if is_verbose else step_of(line):
        _send(answers, Message("line", shown))


def _send(answers: BinaryIO, message: object) -> None:
    pickle.dump(message, answers)
    answers.flush()


def _end_with_reader() -> None:
    # Not through sys.stdin: its lock would be held when the interpreter ends.
    while os.read(0, 1):
        pass
    end_session(os.getsid(0))
    os._exit(1)


if __name__ == "__main__":
    main()
