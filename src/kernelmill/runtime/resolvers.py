"""Where a kernel may come from: links of a chain, asked in turn, for dependencies as for kernels.

A link answers where a build is and what it says of itself, or None when it knows nothing. None
of them fetches more than metadata; every one that leads to a Hub asks for trust first.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Protocol

from kernelmill.runtime.bundles import find_bundled
from kernelmill.runtime.cache import links_root
from kernelmill.runtime.errors import NotLocked
from kernelmill.runtime.hub.expiry import note_expiry
from kernelmill.runtime.load import RepoInfo, read_metadata
from kernelmill.runtime.selection import select_local
from kernelmill.runtime.settings import MAX_AGE_S
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.errors import LockfileError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kernelmill.runtime.selection import Selection
    from kernelmill.runtime.session import Session
    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.lockfile import LockedKernel, Lockfile
    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalKernel:
    """A build in a folder of the caller's own."""

    folder: Path
    metadata: Metadata
    root: Path
    """The folder that its links may not leave."""

    @property
    def variant(self) -> str:
        """The build's folder name."""
        return self.folder.name

    def __str__(self) -> str:
        return str(self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteKernel:
    """A build on a Hub, of which only the metadata is here."""

    selection: Selection
    variant: str
    metadata: Metadata
    locked_hash: str | None = None
    """What a lock file in the old format promises about the build's files."""

    @property
    def repo_info(self) -> RepoInfo:
        """Where it comes from: after redirects, the repository that it was found in."""
        return RepoInfo(repo_id=str(self.selection.repo), revision=self.selection.choice.commit)

    def __str__(self) -> str:
        return f"{self.selection.repo} (revision: {self.selection.choice.name})"


Location = LocalKernel | RemoteKernel


class Resolver(Protocol):
    """One place, or several, where kernels may be."""

    def resolve(self, session: Session, wanted: KernelDependency) -> Location | None:
        """Return where ``wanted`` is; None when it is not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The first of several that knows."""

    links: tuple[Resolver, ...]

    def resolve(self, session: Session, wanted: KernelDependency) -> Location | None:
        """Ask one after the other."""
        answers = (link.resolve(session, wanted) for link in self.links)
        return next((answer for answer in answers if answer is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Folders that take the place of repositories, whatever version is asked for."""

    folders: Mapping[str, Path]

    def resolve(self, session: Session, wanted: KernelDependency) -> LocalKernel | None:
        """Find the build in the folder that stands for the repository."""
        folder = self.folders.get(str(wanted.repo_id))
        if folder is None:
            return None
        log.info("LOCAL_KERNELS: using %s for '%s'", folder, wanted.repo_id)
        return find_local(session, folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class FromBundle:
    """Bundles that the environment names, or that are installed: the caller's own, like folders."""

    def resolve(self, session: Session, wanted: KernelDependency) -> LocalKernel | None:
        """Find the build in the first bundle that has the kernel."""
        folder = find_bundled(wanted.repo_id, version=wanted.version, revision=wanted.revision)
        return None if folder is None else find_bundled_build(session, folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class FromHub:
    """The session's Hub, which may be a remembered one."""

    trust_remote_code: Trust

    def resolve(self, session: Session, wanted: KernelDependency) -> RemoteKernel:
        """Ask for trust, follow redirects, and choose a build; raise when there is none."""
        selection = session.find(
            str(wanted.repo_id),
            version=wanted.version,
            revision=wanted.revision,
            trust_remote_code=self.trust_remote_code,
        )
        return session.read(selection)


@dataclass(frozen=True, slots=True, kw_only=True)
class FromLock:
    """The commits that a lock file names, in a bundle or on the session's Hub; nothing else."""

    lockfile: Lockfile
    trust_remote_code: Trust

    def meant_by(self, repo_id: RepoId) -> KernelDependency:
        """Return what a caller means who only names the repository.

        Raises:
            NotLocked: it is not in the file.
            LockfileError: it is there more than once.
        """
        entry = self._entry(KernelDependency(repo_id=repo_id))
        return entry.dependency or KernelDependency(repo_id=repo_id)

    def resolve(self, session: Session, wanted: KernelDependency) -> Location:
        """Choose a build of the locked commit. A redirect is not followed: the commit is fixed."""
        entry = self._entry(wanted)
        folder = find_bundled(wanted.repo_id, revision=entry.commit)
        if folder is not None:
            return find_bundled_build(session, folder)
        selection = session.select(
            str(wanted.repo_id), revision=entry.commit, trust_remote_code=self.trust_remote_code
        )
        variant = selection.require_variant(session.host)
        return session.read(selection, locked_hash=_locked_hash(entry, variant))

    def _entry(self, wanted: KernelDependency) -> LockedKernel:
        entry = self.lockfile.find(wanted.repo_id, version=wanted.version, revision=wanted.revision)
        if entry is None:
            raise NotLocked(
                f"Kernel `{wanted.repo_id}` is not locked.",
                hint="lock it with `kernels lock <project>`, then install the project again",
            )
        return entry


def _locked_hash(entry: LockedKernel, variant: str) -> str | None:
    if not entry.variant_hashes:
        return None
    if variant not in entry.variant_hashes:
        raise LockfileError(
            f"No lock found for build variant: {variant}",
            where=f"{entry.repo_id} {entry.commit}",
            hint="lock the kernel again: the build was not there then",
        )
    return entry.variant_hashes[variant]


def find_local(session: Session, path: Path) -> LocalKernel:
    """Return the best build under ``path``.

    Raises:
        NoVariant: none fits; says why not, one by one.
        MetadataError: it says nothing of itself, or something that cannot be read.
    """
    path = path.expanduser()
    folder = select_local(path, session.host)
    metadata = read_metadata(folder, name=folder.resolve().name)
    return LocalKernel(folder=folder, metadata=metadata, root=links_root(path))


def find_bundled_build(session: Session, folder: Path) -> LocalKernel:
    """Return the best build in a bundle. Bundles stay as they are: the same call may remember."""
    note_expiry(time.time() + MAX_AGE_S)
    return find_local(session, folder)


def usual_chain(session: Session, trust_remote_code: Trust) -> Chain:
    """Return where kernels and their dependencies come from, unless a lock file says so."""
    return Chain(
        links=(
            Overrides(folders=session.local_kernels),
            FromBundle(),
            FromHub(trust_remote_code=trust_remote_code),
        )
    )
