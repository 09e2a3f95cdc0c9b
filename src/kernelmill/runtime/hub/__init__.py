"""What loading needs from a Hub, as a protocol.

``remote`` speaks it over HTTP, ``cached`` from what is remembered, and ``remembered`` decides which
of the two is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kernelmill.spec.names import RepoId


@dataclass(frozen=True, slots=True, kw_only=True)
class Refs:
    """Where a repository's branches and tags point."""

    branches: dict[str, str]
    """Branch name -> commit."""
    tags: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """One file of a repository at one commit."""

    path: str
    """From the repository's root, with ``/``."""
    size_bytes: int
    oid: str = ""
    """git's id of the blob; empty where nobody knows it."""
    sha256: str = ""
    """Of the content, for a large file, whose blob in git is a pointer; else empty."""

    @property
    def blob_name(self) -> str:
        """The name that huggingface_hub's cache gives the content: its ETag."""
        return self.sha256 or self.oid


class Hub(Protocol):
    """A Hub, as seen by somebody who loads kernels.

    Every method raises a ``HubError`` when the Hub cannot be reached, the repository does not
    exist or the caller may not see it.
    """

    @property
    def endpoint(self) -> str:
        """The Hub's base URL."""

    @property
    def is_offline(self) -> bool:
        """Whether answers come from the cache alone."""

    def fetch_trust(self, organisation: str) -> bool | None:
        """Tell whether the Hub vouches for ``organisation``; None when there is no such one."""

    def fetch_refs(self, repo: RepoId, wanted: str = "") -> Refs:
        """Return the repository's branches and tags.

        ``wanted`` is the branch that is looked for: memory alone does not say that it is missing.
        """

    def fetch_commit(self, repo: RepoId, revision: str) -> str:
        """Return the commit that a branch, tag, full ref or commit id names."""

    def fetch_folders(self, repo: RepoId, commit: str, folder: str) -> tuple[str, ...]:
        """Return the names of the folders in ``folder``; none when there is no such folder."""

    def fetch_files(self, repo: RepoId, commit: str, folder: str) -> tuple[RemoteFile, ...]:
        """Return every file below ``folder``; none when there is no such folder."""

    def download(
        self, repo: RepoId, commit: str, files: Iterable[RemoteFile], cache_dir: Path
    ) -> None:
        """Put files into ``cache_dir`` in huggingface_hub's layout; those already there stay."""
