"""A Hub that is only remembered: everything comes from the cache, nothing from the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import NotCached
from kernelmill.runtime.hub import Refs, RemoteFile
from kernelmill.runtime.records import Records
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.spec.names import RepoId


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedHub:
    """What is known of a Hub without asking it."""

    endpoint: str
    cache: Cache
    is_offline: Final = True

    @property
    def records(self) -> Records:
        """What the Hub said when it was asked."""
        return Records(self.cache)

    def fetch_trust(self, organisation: str) -> bool | None:
        """Return the Hub's last word; None where it never spoke of ``organisation``."""
        vouch = self.records.read_trust(organisation)
        return vouch.is_trusted if vouch else None

    def fetch_refs(self, repo: RepoId, wanted: str = "") -> Refs:  # noqa: ARG002 - nothing to ask
        """Return the branches and tags whose builds were fetched, as they were then."""
        return Refs(branches=self.cache.read_refs(repo), tags={})

    def fetch_commit(self, repo: RepoId, revision: str) -> str:
        """Return the commit that ``revision`` had when its build was last fetched."""
        commit = self.cache.read_ref(repo, revision)
        if not commit:
            raise self._missing(repo, f"revision '{revision}' of '{repo}'")
        return commit

    def fetch_folders(self, repo: RepoId, commit: str, folder: str) -> tuple[str, ...]:
        """Return the names of the folders in ``folder``: all that there were, or those fetched."""
        names = self.records.read_folders(repo, commit, folder)
        if names is not None:
            return names
        snapshot = self.cache.snapshot(repo, commit)
        if not snapshot.is_dir():
            raise NotCached(
                f"Cannot find a local snapshot for {repo} (revision: {commit}). While the Hub "
                "is in offline mode the kernel must already be present in the local cache.",
                where=str(self.cache.root),
                hint="load it once with the network on",
            )
        return tuple(sorted(path.name for path in snapshot.glob(f"{folder}/*") if path.is_dir()))

    def fetch_files(self, repo: RepoId, commit: str, folder: str) -> tuple[RemoteFile, ...]:
        """Return the files below ``folder``: all that there were, or those fetched."""
        files = self.records.read_files(repo, commit, folder)
        if files is not None:
            return files
        snapshot = self.cache.snapshot(repo, commit)
        paths = sorted(path for path in (snapshot / folder).rglob("*") if path.is_file())
        return tuple(
            RemoteFile(path=path.relative_to(snapshot).as_posix(), size_bytes=path.stat().st_size)
            for path in paths
        )

    def download(
        self, repo: RepoId, commit: str, files: Iterable[RemoteFile], cache_dir: Path
    ) -> None:
        """Do nothing when every file is here, and refuse otherwise."""
        snapshot = self.cache.snapshot(repo, commit)
        for file in files:
            if not (snapshot / file.path).is_file():
                raise self._missing(repo, f"{file.path} of '{repo}'", cache_dir)

    def _missing(self, repo: RepoId, what: str, where: Path | None = None) -> NotCached:
        return NotCached(
            f"{what} is not in the cache, and the Hub is in offline mode",
            where=str(where or self.cache.repo_folder(repo)),
            hint="load it once with the network on (HF_HUB_OFFLINE unset)",
        )
