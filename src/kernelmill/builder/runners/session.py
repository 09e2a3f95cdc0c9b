"""End a worker with everything that it started.

Ninja puts each compiler into a process group of its own, but all stay in the worker's session.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_GRACE_S: Final = 2.0
"""For Ninja, to remove the half-written objects of the compilers that it stops."""
_PAUSE_S: Final = 0.02


def end_session(session: int) -> None:
    """End every process of ``session`` but this one: with a request, then by force."""
    _signal(session, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline and any(_members(session)):
        time.sleep(_PAUSE_S)
    _signal(session, signal.SIGKILL)


def _signal(session: int, number: signal.Signals) -> None:
    for process in _members(session):
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _members(session: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):  # it ended
            if os.getsid(int(entry.name)) == session and _is_alive(entry):
                yield int(entry.name)


def _is_alive(entry: Path) -> bool:
    """Tell whether a process still runs: one that only waits to be collected does not."""
    state = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    return state.split()[0] not in {"Z", "X"}
