"""A Hub of the demo's own, on a free loopback port, gone when the demo is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningHub:
    """Where the Hub answers, and the token of its administrator."""

    url: str
    token: str


@contextmanager
def serve(folder: Path, *, publisher: str) -> Iterator[RunningHub]:
    """Serve an empty Hub from ``folder`` that trusts ``publisher``; stop it at the end."""
    ready, token, log = folder / "ready.json", folder / "token", folder / "hub.log"
    folder.mkdir(parents=True)
    command = [
        *(sys.executable, "-m", "kernelmill.hub", "serve", "--data", str(folder / "data")),
        *("--port", "0", "--trust", publisher),
        *("--ready-file", str(ready), "--admin-token-file", str(token)),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_for(ready, process, log)
        url = json.loads(ready.read_text(encoding="utf-8"))["url"]
        yield RunningHub(url=url, token=token.read_text(encoding="utf-8").strip())
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(ready: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            text = log.read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"the Hub did not start:\n{text[-2000:]}")
        time.sleep(0.05)
