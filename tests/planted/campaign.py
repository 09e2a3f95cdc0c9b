"""Plant every bug there is, and say how many were found."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

from tests.planted import gemm_bugs, host_bugs, small_bugs
from tests.planted.machine_bugs import machine_bugs
from tests.planted.programs import PROGRAMS
from tests.planted.trial import launch_clean, try_bug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.planted.values import Bug, Outcome, Verdict

WRITTEN: Final = (*gemm_bugs.BUGS, *small_bugs.BUGS, *host_bugs.BUGS)
"""The bugs in sources and on the host's side; those in machine code are found by looking."""


def all_bugs() -> tuple[Bug, ...]:
    """Return every bug, those of one program together."""
    machine = tuple(bug for program in PROGRAMS.values() for bug in machine_bugs(program))
    order = {name: place for place, name in enumerate(PROGRAMS)}
    return tuple(sorted((*WRITTEN, *machine), key=lambda bug: order[bug.program]))


def run_campaign(bugs: Sequence[Bug], *, processes: int = 0) -> tuple[Verdict, ...]:
    """Try ``bugs``, several at once; by default as many as there are cores."""
    # A process that other threads use must not be forked.
    context = get_context("spawn")
    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=context) as pool:
        return tuple(pool.map(try_one, bugs, chunksize=4))


def try_one(bug: Bug) -> Verdict:
    """Try one bug."""
    return try_bug(PROGRAMS[bug.program], bug)


def run_clean() -> dict[str, tuple[Outcome, ...]]:
    """Launch every program as it is: each of its launches."""
    return {
        name: tuple(launch_clean(program, setup) for setup in program.setups)
        for name, program in PROGRAMS.items()
    }
