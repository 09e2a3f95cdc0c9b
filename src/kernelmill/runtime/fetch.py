"""Bring one build from a Hub into the cache: that build alone, whole, once for all processes."""

from __future__ import annotations

import logging
import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import CacheUnusable, HubUnreachable, NotCached
from kernelmill.runtime.load import MAX_METADATA_BYTES, read_metadata
from kernelmill.runtime.records import Records
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec.errors import HubError, MetadataError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub, RemoteFile
    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)

MAX_PATH_LENGTH: Final = 259 if os.name == "nt" else 4095
"""Of Windows without its long paths, and of Linux."""
MAX_NAME_BYTES: Final = 255


def fetch_metadata(hub: Hub, cache: Cache, repo: RepoId, *, commit: str, variant: str) -> Metadata:
    """Return what a build says of itself, before anything large is fetched.

    Raises:
        MetadataError: it says nothing, or something that cannot be read.
        NotCached: it did not arrive, and the network must not be used.
    """
    folder = f"{BUILD_FOLDER}/{variant}"
    known = Records(cache).read_files(repo, commit, folder)
    path = cache.snapshot(repo, commit) / folder / "metadata.json"
    listed = next((file for file in known or () if file.path == f"{folder}/metadata.json"), None)
    if not (is_whole(path, listed) if listed else path.is_file()):
        _bring_metadata(hub, cache, repo, commit, folder)
    return read_metadata(cache.snapshot(repo, commit) / folder, name=repo.name)


def _bring_metadata(hub: Hub, cache: Cache, repo: RepoId, commit: str, folder: str) -> None:
    files = wanted_files(hub.fetch_files(repo, commit, folder), repo, folder)
    metadata = next((file for file in files if file.path == f"{folder}/metadata.json"), None)
    if hub.is_offline:
        raise NotCached(
            f"{folder} of '{repo}' was not downloaded completely",
            where=str(cache.snapshot(repo, commit) / folder),
            hint="load it once with the network on (HF_HUB_OFFLINE unset)",
        )
    if metadata is None:
        raise MetadataError(
            f"{folder} holds no metadata.json",
            where=f"{repo} (revision: {commit})",
            hint="its author has to build it again",
        )
    if metadata.size_bytes > MAX_METADATA_BYTES:
        raise MetadataError(
            f"{folder}/metadata.json has more than {MAX_METADATA_BYTES} bytes",
            where=f"{repo} (revision: {commit})",
        )
    check_lengths(cache.snapshot(repo, commit), [metadata])
    with cache.lock(repo):
        hub.download(repo, commit, [metadata], cache.root)


def fetch_variant(hub: Hub, cache: Cache, repo: RepoId, *, commit: str, variant: str) -> Path:
    """Return the folder of a build, with every file of it.

    What is there already is not asked for again. A build whose fetching was interrupted is
    completed. Of several processes one fetches, and the others wait for it.
    """
    if not (is_complete(cache, repo, commit, variant) or hub.is_offline):
        try:
            _complete(hub, cache, repo, commit, variant)
        except HubUnreachable:
            if not _holds_what_it_lists(cache, repo, commit, variant):
                raise
    if not hub.is_offline:
        _remember_names(cache, repo, commit)
    return cache.snapshot(repo, commit) / BUILD_FOLDER / variant


def _complete(hub: Hub, cache: Cache, repo: RepoId, commit: str, variant: str) -> None:
    folder = f"{BUILD_FOLDER}/{variant}"
    files = wanted_files(hub.fetch_files(repo, commit, folder), repo, folder)
    check_lengths(cache.snapshot(repo, commit), files)
    with cache.lock(repo):
        if not is_complete(cache, repo, commit, variant):
            log.info("fetching %s of %s at %s", variant, repo, commit)
            hub.download(repo, commit, files, cache.root)


def is_complete(cache: Cache, repo: RepoId, commit: str, variant: str) -> bool:
    """Tell whether every file of a build is here, each of the size that the Hub gave.

    A file gets its name here only once all of it has arrived and was compared with its id.
    """
    folder = f"{BUILD_FOLDER}/{variant}"
    files = Records(cache).read_files(repo, commit, folder)
    if files is None:
        return False
    snapshot = cache.snapshot(repo, commit)
    return all(is_whole(snapshot / each.path, each) for each in files if _is_part(each.path))


def is_whole(path: Path, file: RemoteFile) -> bool:
    """Tell whether a file is here, with the size it should have."""
    try:
        return path.stat().st_size == file.size_bytes
    except (OSError, ValueError):
        return False


def _holds_what_it_lists(cache: Cache, repo: RepoId, commit: str, variant: str) -> bool:
    """Tell whether the files of a digest are here, for a build of which no list is known."""
    folder = cache.snapshot(repo, commit) / BUILD_FOLDER / variant
    try:
        digest = read_metadata(folder, name=repo.name).digest
    except MetadataError:
        return False
    return digest is not None and all((folder / path).is_file() for path in digest.files)


def _remember_names(cache: Cache, repo: RepoId, commit: str) -> None:
    """Note the branches and tags that lead to a build which is here, as of the last answers."""
    for name in Records(cache).read_listing(repo).names_of(commit):
        cache.remember_ref(repo, name, commit)


def check_lengths(
    snapshot: Path,
    files: Iterable[RemoteFile],
    *,
    max_path: int = MAX_PATH_LENGTH,
    max_name: int = MAX_NAME_BYTES,
) -> None:
    """Refuse paths that this system cannot have, before anything waits for a lock.

    Raises:
        CacheUnusable: one is too long.
    """
    for path in (f"{snapshot}/{file.path}" for file in files):
        longest_name = max(len(os.fsencode(name)) for name in PurePosixPath(path).parts)
        if len(path) > max_path or longest_name > max_name:
            raise CacheUnusable(
                f"a path of {len(path)} characters is longer than this system allows",
                where=path,
                hint="set KERNELS_CACHE to a folder with a shorter path",
            )


def wanted_files(files: Iterable[RemoteFile], repo: RepoId, folder: str) -> tuple[RemoteFile, ...]:
    """Return the files that are part of a build. Bytecode, which no digest covers, is not.

    Raises:
        HubError: the Hub names a file that is not one of the folder's.
    """
    for file in files:
        _check_name(file, repo, f"{folder}/")
    return tuple(file for file in files if _is_part(file.path))


def _is_part(path: str) -> bool:
    return not (path.endswith(".pyc") or "__pycache__" in path.split("/"))


def _check_name(file: RemoteFile, repo: RepoId, folder: str) -> None:
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
