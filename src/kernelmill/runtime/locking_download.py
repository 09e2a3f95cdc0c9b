"""Fetch the builds of locked kernels into the cache, each at its commit, and check them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelmill.runtime.fetch import fetch_variant
from kernelmill.runtime.files import shown_size
from kernelmill.runtime.load import ensure_integrity, read_metadata, variant_of
from kernelmill.runtime.locking import pass_gate
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec.errors import DigestMismatch, KernelError, NoVariant
from kernelmill.spec.lockfile import hash_variant
from kernelmill.spec.resolve import no_variant, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub, RemoteFile
    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.host import Host
    from kernelmill.spec.lockfile import LockedKernel

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """What came of one locked kernel."""

    kernel: LockedKernel
    builds: tuple[Path, ...] = ()
    error: KernelError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloader:
    """Fetches locked kernels from one Hub."""

    hub: Hub
    cache: Cache
    select: Callable[[LockedKernel, Sequence[str]], tuple[str, ...]]
    trust: Trust = False
    report: Callable[[str], None] = field(default=lambda _: None)

    def download_all(self, kernels: Sequence[LockedKernel]) -> list[Downloaded]:
        """Fetch every kernel; the failure of one does not keep the others away."""
        outcomes = []
        for kernel in kernels:
            self.report(f"Downloading kernel: {kernel.repo_id} (revision: {kernel.commit})")
            try:
                builds = self.download(kernel)
            except KernelError as error:
                outcomes.append(Downloaded(kernel=kernel, error=error))
            else:
                outcomes.append(Downloaded(kernel=kernel, builds=builds))
        return outcomes

    def download(self, kernel: LockedKernel) -> tuple[Path, ...]:
        """Return the folders of a kernel's builds, fetched and checked. Trust is asked first.

        Raises:
            NotTrusted: the publisher is not trusted, nor is the repository allowed.
            NoVariant: there is no build to choose.
            DigestMismatch: a build is not the one that was locked, or that was published.
            HubError: the Hub says no.
        """
        pass_gate(self.hub, kernel.repo_id, self.trust)
        names = self.hub.fetch_folders(kernel.repo_id, kernel.commit, BUILD_FOLDER)
        return tuple(self._fetch(kernel, it) for it in self.select(kernel, names))

    def _fetch(self, kernel: LockedKernel, variant: str) -> Path:
        repo, commit = kernel.repo_id, kernel.commit
        if expected := kernel.variant_hashes.get(variant):
            folder = f"{BUILD_FOLDER}/{variant}"
            ensure_locked_hash(self.hub.fetch_files(repo, commit, folder), folder, expected)
        elif kernel.variant_hashes:
            log.warning(
                "the old lock file has no hash for %s of '%s': lock it again", variant, repo
            )
        path = fetch_variant(self.hub, self.cache, repo, commit=commit, variant=variant)
        metadata = read_metadata(path, name=repo.name)
        ensure_integrity(path, metadata, root=self.cache.root)
        files = [it for it in path.rglob("*") if it.is_file()]
        size_bytes = sum(it.stat().st_size for it in files)
        self.report(f"  {variant}: {len(files)} files, {shown_size(size_bytes)}")
        return path


def ensure_locked_hash(files: Iterable[RemoteFile], folder: str, expected: str) -> None:
    """Stop here unless a Hub lists the files that an old lock file's hash was made of.

    A listing from the cache has no ids to compare, and passes: what was fetched was checked then.

    Raises:
        DigestMismatch: it lists others.
    """
    ids = [(it.path.removeprefix(f"{folder}/"), it.blob_name) for it in files]
    if not all(blob_name for _, blob_name in ids):
        log.info("the Hub's ids of the files in %s are not known here", folder)
        return
    got = hash_variant(ids)
    if got != expected:
        raise DigestMismatch(
            f"{folder} is not what was locked: expected {expected}, got {got}",
            hint="nothing was fetched; find out who changed it before you run `kernels lock` again",
        )


def select_for(host: Host) -> Callable[[LockedKernel, Sequence[str]], tuple[str, ...]]:
    """Return the choice of the one build that loading would take on ``host``."""

    def select(kernel: LockedKernel, names: Sequence[str]) -> tuple[str, ...]:
        resolution = resolve(names, host)
        if resolution.chosen is None:
            revision = kernel.commit
            raise no_variant(resolution, repo=str(kernel.repo_id), revision=revision, host=host)
        return (str(resolution.chosen),)

    return select


def select_all(kernel: LockedKernel, names: Sequence[str]) -> tuple[str, ...]:
    """Choose every build whose name is understood."""
    known = tuple(name for name in names if variant_of(name) is not None)
    for name in sorted(set(names) - set(known)):
        log.warning("%s of '%s' is not understood by this version", name, kernel.repo_id)
    if not known:
        raise NoVariant(
            f"'{kernel.repo_id}' has no builds at {kernel.commit}",
            hint="its author has to build it",
        )
    return known
