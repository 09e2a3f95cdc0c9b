"""The kernels that any build of a kernel loads: read from the metadata of all of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.load import MAX_METADATA_BYTES, read_metadata, variant_of
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec.errors import MetadataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub, RemoteFile
    from kernelmill.spec.dependencies import KernelDependency
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)

_METADATA: Final = "metadata.json"


def fetch_dependencies(
    hub: Hub, cache: Cache, repo: RepoId, commit: str
) -> tuple[KernelDependency, ...]:
    """Return what the builds of ``repo`` at ``commit`` load; fetches their metadata alone.

    Raises:
        MetadataError: a build's metadata cannot be read.
        HubError: the Hub says no.
    """
    builds = metadata_of(hub.fetch_files(repo, commit, BUILD_FOLDER), repo, commit)
    snapshot = cache.snapshot(repo, commit)
    missing = [it for it in builds.values() if not (snapshot / it.path).is_file()]
    if missing:
        with cache.lock(repo):
            hub.download(repo, commit, missing, cache.root)
    found = {
        dependency: None
        for variant in builds
        for dependency in read_metadata(
            snapshot / BUILD_FOLDER / variant, name=repo.name
        ).kernel_depends
    }
    return tuple(found)


def metadata_of(files: Iterable[RemoteFile], repo: RepoId, commit: str) -> dict[str, RemoteFile]:
    """Return the files of ``files`` that are a build's metadata, by variant.

    Raises:
        MetadataError: one is too large to be metadata.
    """
    found, builds = {}, set()
    for file in files:
        folder, _, path = file.path.removeprefix(f"{BUILD_FOLDER}/").partition("/")
        if variant_of(folder) is None:
            continue
        builds.add(folder)
        if path == _METADATA:
            _ensure_small(file, repo, commit)
            found[folder] = file
    if not builds:
        log.warning("'%s' has no builds at %s: it cannot be loaded from there", repo, commit)
    for variant in sorted(builds - set(found)):
        log.warning("%s of '%s' holds no %s: what it loads is unknown", variant, repo, _METADATA)
    return dict(sorted(found.items()))


def _ensure_small(file: RemoteFile, repo: RepoId, commit: str) -> None:
    if file.size_bytes > MAX_METADATA_BYTES:
        raise MetadataError(
            f"{file.path} has more than {MAX_METADATA_BYTES} bytes",
            where=f"{repo} (revision: {commit})",
            hint="its author has to build it again",
        )
