"""A Hub in a process of its own, as a user runs it."""

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

START_TIMEOUT_S: Final = 30
STOP_TIMEOUT_S: Final = 15
COMMAND: Final = (sys.executable, "-m", "kernelmill.hub")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningHub:
    """Where the Hub answers, its administrator's token, and its process."""

    url: str
    token: str
    data: Path
    process: subprocess.Popen[bytes]


def start(folder: Path, *options: str, name: str = "hub") -> RunningHub:
    """Start a Hub on ``folder / "data"``; several may run on one folder under other names."""
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
            raise RuntimeError(f"the Hub did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.02)
    return RunningHub(
        url=json.loads(ready.read_text())["url"],
        token=token.read_text().strip(),
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
    """Run a Hub while the block runs."""
    hub = start(folder, *options, name=name)
    try:
        yield hub
    finally:
        stop(hub)


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``kernel-hub`` with arguments and return what it said."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def make_token(hub: RunningHub, user: str, role: str) -> str:
    """Create a token from the command line, beside the running Hub."""
    done = run_command(
        *("token", "create", "--data", str(hub.data), "--user", user, "--role", role)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
