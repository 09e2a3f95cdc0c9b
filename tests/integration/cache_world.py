"""Processes that load kernels from a Hub of their own, whose requests are counted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from demo.hub import RunningHub, serving
from tests.unit.runtime.kernel_files import kernel_files, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

from contextlib import contextmanager

REQUEST: Final = re.compile(r" (GET|HEAD|POST) (/\S*) ")
LOAD: Final = """
import sys
sys.modules["torch"] = None  # as where it is not installed: importing it takes most of the time
import kernels
kernel = kernels.get_kernel("acme/toy", **eval(sys.argv[1]))
print(kernel.VALUE, "huggingface_hub" in sys.modules, "httpx2" in sys.modules)
"""
CARD: Final = b"---\nlicense: apache-2.0\n---\n# A toy\n"


@dataclass
class World:
    """A Hub, a cache, and processes that load ``acme/toy``."""

    hub: RunningHub
    folder: Path
    cache: Path
    """Each test may have its own, over the same Hub."""
    _seen: int = field(default=0)

    @property
    def env(self) -> dict[str, str]:
        """The environment of a process that loads."""
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HF_", "KERNELS_", "HUGGINGFACE_"))
        }
        return clean | {
            "HF_ENDPOINT": self.hub.url,
            "HF_TOKEN": self.hub.token,
            "HF_HOME": str(self.folder / "home"),
            "KERNELS_CACHE": str(self.cache),
        }

    def upload(
        self,
        value: object = 1,
        *,
        version: int = 1,
        repo: str = "acme/toy",
        sources: Mapping[str, str] | None = None,
    ) -> None:
        """Publish a build as ``v<version>``."""
        count = len(list(self.folder.glob("repository*")))
        folder = self.folder / f"repository{count}"
        files = kernel_files(value=value, version=version, sources=sources)
        write_files(folder / "build/torch-cpu", files)
        write_files(folder, {"CARD.md": CARD})
        self.command("upload", str(folder), "--repo-id", repo)

    def command(self, *arguments: str, status: int = 0, **env: str) -> str:
        """Run a ``kernels`` command, and return what it printed."""
        command = [sys.executable, "-m", "kernelmill.runtime", *arguments]
        done = subprocess.run(
            command, env=self.env | env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    def start(
        self, arguments: str = "{'version': 1}", *before: str, **env: str
    ) -> subprocess.Popen[str]:
        """Start a process that loads; ``before`` goes in front of its command line."""
        command = [*before, sys.executable, "-c", LOAD, arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=self.env | env, stdout=pipe, stderr=pipe, text=True, cwd="/"
        )

    def load(self, arguments: str = "{'version': 1}", *before: str, **env: str) -> str:
        """Load in a new process, and return what it printed: a value, what was imported."""
        return finish(self.start(arguments, *before, **env))

    def requests(self) -> list[str]:
        """Return the requests since the last call, such as ``GET /api/...``."""
        log = (self.folder / "hub" / "hub.log").read_text(encoding="utf-8")
        found = [" ".join(match) for match in REQUEST.findall(log)]
        new, self._seen = found[self._seen :], len(found)
        return new


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a process, and return what it printed, or else its errors."""
    output, errors = process.communicate(timeout=120)
    return output.strip() if process.returncode == 0 else errors


@contextmanager
def world_in(folder: Path) -> Iterator[World]:
    """Run a Hub that logs its requests."""
    with serving(folder / "hub", "--trust", "acme", "-v") as hub:
        yield World(hub, folder, folder / "cache")
