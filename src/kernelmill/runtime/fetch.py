"""Bring one build from a Hub into the cache: that build alone, whole, once for all processes."""

from __future__ import annotations

import logging
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kernelmill.runtime.errors import NotCached
from kernelmill.runtime.load import MAX_METADATA_BYTES, read_metadata
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec.errors import HubError, MetadataError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub, RemoteFile
    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)


def fetch_metadata(hub: Hub, cache: Cache, repo: RepoId, *, commit: str, variant: str) -> Metadata:
    """Return what a build says of itself, before anything large is fetched.

    Raises:
        MetadataError: it says nothing, or something that cannot be read.
        NotCached: it did not arrive, and the network must not be used.
    """
    folder = f"{BUILD_FOLDER}/{variant}"
    path = cache.snapshot(repo, commit) / folder / "metadata.json"
    if not path.is_file():
        listed = {file.path: file for file in hub.fetch_files(repo, commit, folder)}
        if f"{folder}/metadata.json" not in listed:
            if hub.is_offline:
                raise NotCached(
                    f"{folder} of '{repo}' was not downloaded completely",
                    where=str(path.parent),
                    hint="load it once with the network on (HF_HUB_OFFLINE unset)",
                )
            raise MetadataError(
                f"{folder} holds no metadata.json",
                where=f"{repo} (revision: {commit})",
                hint="its author has to build it again",
            )
        if listed[f"{folder}/metadata.json"].size_bytes > MAX_METADATA_BYTES:
            raise MetadataError(
                f"{folder}/metadata.json has more than {MAX_METADATA_BYTES} bytes",
                where=f"{repo} (revision: {commit})",
            )
        with cache.lock(repo):
            hub.download(repo, commit, [f"{folder}/metadata.json"], cache.root)
    return read_metadata(path.parent, name=repo.name)


def fetch_variant(hub: Hub, cache: Cache, repo: RepoId, *, commit: str, variant: str) -> Path:
    """Return the folder of a build, with every file of it.

    What is there already is not asked for again. A build whose fetching was interrupted is
    completed. Of several processes one fetches, and the others wait for it.
    """
    folder = cache.snapshot(repo, commit) / BUILD_FOLDER / variant
    if is_complete(cache, repo, commit, variant):
        return folder
    files = tuple(
        file
        for file in hub.fetch_files(repo, commit, f"{BUILD_FOLDER}/{variant}")
        if _is_wanted(file, repo, f"{BUILD_FOLDER}/{variant}/")
    )
    if hub.is_offline:
        return folder
    with cache.lock(repo):
        if not is_complete(cache, repo, commit, variant):
            log.info("fetching %s of %s at %s", variant, repo, commit)
            hub.download(repo, commit, [file.path for file in files], cache.root)
            cache.remember_files(repo, commit, variant, files)
    return folder


def is_complete(cache: Cache, repo: RepoId, commit: str, variant: str) -> bool:
    """Tell whether every file of a build is here."""
    files = cache.read_files(repo, commit, variant)
    snapshot = cache.snapshot(repo, commit)
    return files is not None and all((snapshot / file.path).is_file() for file in files)


def _is_wanted(file: RemoteFile, repo: RepoId, folder: str) -> bool:
    """Tell whether a file is part of a build. Bytecode, which no digest covers, is not."""
    parts = PurePosixPath(file.path).parts
    if ".." in parts or "\\" in file.path or not file.path.startswith(folder):
        raise HubError(
            f"the Hub names the file {file.path!r}, outside its folder",
            where=str(repo),
            hint="nothing was written; tell the owner of the Hub",
        )
    # Every name has one spelling, and one that a file system and a terminal can take.
    if str(PurePosixPath(file.path)) != file.path or not file.path.isprintable():
        raise HubError(
            f"the Hub names the file {file.path!r}, not a usable name",
            where=str(repo),
            hint="nothing was written; tell the owner of the Hub",
        )
    return not (file.path.endswith(".pyc") or "__pycache__" in parts)
