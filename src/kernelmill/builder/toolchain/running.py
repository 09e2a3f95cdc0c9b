"""Running a program that speaks line by line."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def run_program(
    command: Sequence[str], *, env: Mapping[str, str], on_line: Callable[[str], None]
) -> int:
    """Run a program, which has no input, to its end, and return its status.

    Args:
        command: the program and its arguments.
        env: its environment.
        on_line: called with each line that it prints, on either stream.
    """
    with subprocess.Popen(
        command,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                on_line(line)
        except BaseException:
            process.terminate()
            raise
    return process.returncode
