"""A Hub in a process of its own, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.hub.service.hub import existing_hub
from kernelmill.hub.store import accounts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.hub.store.names import Role

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


def make_user(hub: RunningHub, name: str, *orgs: str) -> None:
    """Create a user who writes to some organisations, beside the running Hub."""
    with existing_hub(hub.data) as opened:
        accounts.create_account(opened.database, name, "user")
        for org in orgs:
            accounts.add_member(opened.database, org, name, "write")


def make_token(hub: RunningHub, user: str, role: Role) -> str:
    """Create a token beside the running Hub."""
    with existing_hub(hub.data) as opened:
        return accounts.create_token(opened.database, user, role, "test")
