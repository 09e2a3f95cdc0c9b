"""Which commit a kernel's sources are."""

from __future__ import annotations

import io
import subprocess
import tarfile
from typing import TYPE_CHECKING

from kernelmill.spec.metadata import SourceState

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

_TIMEOUT_S = 30


def probe_source_state(root: Path, files: Collection[str] = ()) -> SourceState | None:
    """Return the commit of ``root`` and whether its sources are what that commit holds.

    They are not when tracked files below ``root`` changed, or when git does not track one of
    ``files``. Other untracked files do not count: build outputs and notes lie about, and no build
    reads them. None outside git, without git, and before the first commit; and for a folder that a
    repository around it ignores, which is not part of it.

    Args:
        root: the kernel's folder.
        files: what the build reads, relative to ``root``.
    """
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".")
    if not commit or status is None:
        return None
    listing = _git(root, "ls-files", "-z", "--", ".") or ""
    if not listing and _git(root, "check-ignore", "--quiet", "--", ".") is not None:
        return None
    is_dirty = bool(status) or not set(listing.split("\0")).issuperset(files)
    return SourceState(version=None, commit=commit, is_dirty=is_dirty)


def export_commit(root: Path, commit: str, target: Path) -> bool:
    """Write the folder ``root`` as it is in ``commit`` to ``target``; whether there is such one."""
    prefix = _git(root, "rev-parse", "--show-prefix")
    if prefix is None or _git(root, "cat-file", "-e", f"{commit}^{{commit}}") is None:
        return False
    done = subprocess.run(
        ["git", "-C", str(root), "archive", "--format=tar", f"{commit}:{prefix}"],
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        return False
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
        files.extractall(target, filter="data")
    return True


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
