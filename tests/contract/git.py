"""A Hub's repository as git itself sees it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.conftest import require_program

from kernelmill.hub.service.hub import open_hub
from kernelmill.hub.settings import Settings
from kernelmill.hub.store.objects import pack_key
from kernelmill.hub.store.repos import find_repo, read_packs, read_refs

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.hub.store.names import RepoKind


class GitRepo:
    """A bare repository with a Hub's packs and references."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._git = require_program("git", package="git")

    def run(self, *arguments: str) -> str:
        """Run git and return what it printed; it must succeed and complain of nothing."""
        done = subprocess.run(
            [self._git, "-C", str(self._path), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def check(self) -> None:
        """Let git verify every object, that all are there, and that none is odd."""
        report = self.run("fsck", "--full", "--strict", "--no-dangling")
        assert report == "", report

    def subjects(self, ref: str = "main") -> list[str]:
        """Return the commits' titles, newest first."""
        return self.run("log", "--format=%s", ref).splitlines()


def materialise(data: Path, kind: RepoKind, name: str, target: Path) -> GitRepo:
    """Write a repository of the Hub in the folder ``data`` as a bare git repository."""
    packs = target / "objects" / "pack"
    packs.mkdir(parents=True)
    hub = open_hub(Settings(data=data))
    try:
        repo = find_repo(hub.database, kind, name)
        assert repo is not None
        refs = read_refs(hub.database, repo.id)
        rows = read_packs(hub.database, repo.id, after=0)
        for row in rows:
            checksum = row.name.rpartition("-")[2]
            for suffix, inline in (("pack", row.data), ("idx", row.index)):
                content = inline or hub.blobs.open(f"{pack_key(repo.id, row.name)}.{suffix}")
                (packs / f"pack-{checksum}.{suffix}").write_bytes(content)
    finally:
        hub.close()
    (target / "refs").mkdir()
    (target / "HEAD").write_text("ref: refs/heads/main\n")
    lines = (f"{value} {ref}\n" for ref, value in refs.items())
    (target / "packed-refs").write_text("".join(lines))
    return GitRepo(target)
