"""A Hub in a process of its own, on a free loopback port, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND: Final = (sys.executable, "-m", "kernelmill.hub")
START_TIMEOUT_S: Final = 60
STOP_TIMEOUT_S: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningHub:
    """Where the Hub answers, its administrator's token, its data, and its process."""

    url: str
    token: str
    data: Path
    process: subprocess.Popen[bytes]

    def run(self, *arguments: str) -> str:
        """Run another ``kernel-hub`` command on the same data, and return what it printed."""
        command = [*COMMAND, *arguments, "--data", str(self.data)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60)
        return done.stdout.strip()


def start(folder: Path, *options: str, name: str = "hub") -> RunningHub:
    """Start a Hub on ``folder / "data"``; several may run on one folder under other names.

    Raises:
        RuntimeError: it did not start; holds the end of its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ready, token, log = folder / f"{name}.ready", folder / "token", folder / f"{name}.log"
    ready.unlink(missing_ok=True)
    command = [
        *(*COMMAND, "serve", "--data", str(folder / "data"), "--port", "0"),
        *("--ready-file", str(ready), "--admin-token-file", str(token), *options),
    ]
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            text = log.read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"the Hub did not start:\n{text[-2000:]}")
        time.sleep(0.02)
    return RunningHub(
        url=json.loads(ready.read_text(encoding="utf-8"))["url"],
        token=token.read_text(encoding="utf-8").strip(),
        data=folder / "data",
        process=process,
    )


def stop(hub: RunningHub) -> None:
    """Ask the Hub to stop, and kill it if it does not."""
    hub.process.terminate()
    try:
        hub.process.wait(timeout=STOP_TIMEOUT_S)
    finally:
        hub.process.kill()
        hub.process.wait()


@contextmanager
def serving(folder: Path, *options: str, name: str = "hub") -> Iterator[RunningHub]:
    """Run a Hub while the block runs. ``options`` are those of ``kernel-hub serve``."""
    hub = start(folder, *options, name=name)
    try:
        yield hub
    finally:
        stop(hub)
