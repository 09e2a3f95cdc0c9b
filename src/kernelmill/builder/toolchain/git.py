"""Which commit a kernel's sources are."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from kernelmill.spec.metadata import SourceState

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT_S = 30


def probe_source_state(root: Path) -> SourceState | None:
    """Return the commit of ``root`` and whether tracked files below it changed since.

    Untracked files do not count: build outputs and notes lie about, and what is compiled is named
    by ``build.toml``. None outside git, without git, and before the first commit.
    """
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".")
    if not commit or status is None:
        return None
    return SourceState(version=None, commit=commit, is_dirty=bool(status))


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
