"""The documentation's commands and scripts do what the pages say."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.markdown import run_page

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def examples(tmp_path: Path, root: Path) -> Iterator[Path]:
    """Return a folder like ``examples/``; a Hub that was started in it is stopped at the end."""
    ignore = shutil.ignore_patterns("build", "__pycache__", ".pytest_cache")
    shutil.copytree(root / "examples" / "gemm", tmp_path / "gemm", ignore=ignore)
    yield tmp_path
    ready = tmp_path / "hub-ready"
    if ready.exists():
        os.kill(json.loads(ready.read_text(encoding="utf-8"))["pid"], signal.SIGTERM)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


def test_guide_runs_as_written(examples: Path, root: Path) -> None:
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(examples),
        "HF_HOME": str(examples / "hf"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "LC_ALL": "C.UTF-8",
    }
    port = str(free_port())
    count = run_page(
        root / "docs" / "guide.md",
        folder=examples,
        root=root,
        env=env,
        replace={"8080": port},
    )

    assert count >= 12
    assert not answers(port)
    assert {it.name for it in examples.iterdir() if not it.name.startswith(".")} == {"gemm", "hf"}


@pytest.mark.parametrize("name", ["hub-token", "hub-data/hub.sqlite3", "hub-ready", "hub.log"])
def test_git_ignores_what_the_guide_writes_beside_the_kernel(
    tmp_path: Path, root: Path, name: str
) -> None:
    shutil.copy(root / ".gitignore", tmp_path)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for folder in ("", "examples/"):
        command = ["git", "-C", str(tmp_path), "check-ignore", "--quiet", f"{folder}{name}"]
        assert subprocess.run(command, check=False).returncode == 0
