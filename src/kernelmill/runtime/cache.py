"""The folder of fetched kernels, in huggingface_hub's layout, one per Hub.

``kernels--ns--name/`` holds ``snapshots/<commit>/``, ``refs/<name>`` (the commit a branch or tag
had when it was last asked for) and ours: ``variants/<commit>/<variant>.json``, the list of a
variant's files, written after the last of them arrived, and ``trusted``, which is there while the
Hub's last word on the publisher was that it is trusted.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filelock import FileLock

from kernelmill.runtime.errors import CacheUnusable
from kernelmill.runtime.hub import RemoteFile
from kernelmill.runtime.revisions import COMMIT

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.names import RepoId


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Kernels that were fetched from one Hub."""

    root: Path

    def repo_folder(self, repo: RepoId) -> Path:
        """Return the folder of one repository."""
        return self.root / f"kernels--{repo.namespace}--{repo.name}"

    def snapshot(self, repo: RepoId, commit: str) -> Path:
        """Return the folder that mirrors the repository at ``commit``."""
        return self.repo_folder(repo) / "snapshots" / commit

    def lock(self, repo: RepoId) -> FileLock:
        """Return the lock to hold while files of the repository are fetched.

        The lock file stays: removing it would leave two processes with two different locks.
        """
        folder = self.root / ".locks" / self.repo_folder(repo).name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CacheUnusable(
                f"cannot write the cache: {error.strerror}",
                where=str(folder),
                hint="set KERNELS_CACHE to a folder that can be written",
            ) from error
        return FileLock(folder / "kernelmill.lock")

    def read_refs(self, repo: RepoId) -> dict[str, str]:
        """Return the remembered branches and tags: name -> commit."""
        folder = self.repo_folder(repo) / "refs"
        paths = (path for path in folder.rglob("*") if path.is_file())
        found = {
            path.relative_to(folder).as_posix(): path.read_text(errors="replace").strip()
            for path in paths
        }
        return {name: commit for name, commit in found.items() if COMMIT.fullmatch(commit)}

    def remember_ref(self, repo: RepoId, name: str, commit: str) -> None:
        """Note that ``name`` is ``commit``, for the day there is no network."""
        path = self.repo_folder(repo) / "refs" / name
        # The note is a convenience: a cache may be read-only, and "a" and "a/b" exclude each other.
        with suppress(OSError):
            if not path.is_file() or path.read_text() != commit:
                write_whole(path, commit, scratch=self.repo_folder(repo))

    def read_trust(self, repo: RepoId) -> bool:
        """Tell whether the Hub vouched for the publisher when it was last asked."""
        return self._trust_path(repo).is_file()

    def remember_trust(self, repo: RepoId) -> None:
        """Note that the Hub vouches for the publisher, for the day it does not answer."""
        path = self._trust_path(repo)
        if not path.is_file():
            with suppress(OSError):  # as for references
                write_whole(path, "", scratch=self.repo_folder(repo))

    def forget_trust(self, repo: RepoId) -> None:
        """Note that the Hub vouches no longer for the publisher."""
        with suppress(OSError):
            self._trust_path(repo).unlink(missing_ok=True)

    def read_files(self, repo: RepoId, commit: str, variant: str) -> tuple[RemoteFile, ...] | None:
        """Return the files of a fetched variant; None when it never arrived completely."""
        try:
            text = self._list_path(repo, commit, variant).read_text()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            listing = json.loads(text)
            return tuple(RemoteFile(path=path, size_bytes=size) for path, size in listing.items())
        except (ValueError, AttributeError):  # damaged: as if it were not there
            return None

    def remember_files(
        self, repo: RepoId, commit: str, variant: str, files: tuple[RemoteFile, ...]
    ) -> None:
        """Note that every one of ``files`` is here."""
        listing = {file.path: file.size_bytes for file in files}
        text = json.dumps(listing, indent=1, sort_keys=True) + "\n"
        path = self._list_path(repo, commit, variant)
        write_whole(path, text, scratch=self.repo_folder(repo))

    def _trust_path(self, repo: RepoId) -> Path:
        return self.repo_folder(repo) / "trusted"

    def _list_path(self, repo: RepoId, commit: str, variant: str) -> Path:
        return self.repo_folder(repo) / "variants" / commit / f"{variant}.json"


def write_whole(path: Path, text: str, *, scratch: Path) -> None:
    """Write a text file that others see either not at all or complete.

    Args:
        path: the file.
        text: what it is to hold.
        scratch: a folder on the same file system, for the file while it is incomplete. Not the
            file's own where others take every file for an answer, as in ``refs``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=scratch, prefix=f".{path.name}.")
    try:
        # mkstemp's files are private; a shared cache is read by others.
        os.fchmod(descriptor, 0o644)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)  # noqa: PTH105 - a rename over an existing file, as text paths
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108 - as above
        raise
