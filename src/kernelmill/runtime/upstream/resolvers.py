"""The original's resolvers, which are called with an ``HfApi``. Ours do the work.

What leads to a Hub asks for trust there first, as everything in ``runtime`` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kernelmill.runtime import resolvers
from kernelmill.runtime.errors import NotLocked
from kernelmill.runtime.locks import HINT
from kernelmill.runtime.upstream.dependencies import KernelDependency, NamedRevision
from kernelmill.runtime.upstream.places import LocalKernel, Location, RemoteKernel
from kernelmill.runtime.upstream.sessions import Api, session_of

if TYPE_CHECKING:
    from kernelmill.runtime.session import Session
    from kernelmill.runtime.trust import Trust
    from kernelmill.runtime.upstream.locks import KernelLocks, KernelPaths


class Resolver(Protocol):
    """A place where kernels may be."""

    def resolve(
        self, *, api: Api | None, backend: str | None, kernel: KernelDependency
    ) -> Location | None:
        """Return where ``kernel`` is; None when it is not here."""


@dataclass(frozen=True)
class SequentialResolver:
    """The first of several that knows."""

    resolvers: list[Resolver]

    def resolve(
        self, *, api: Api | None, backend: str | None, kernel: KernelDependency
    ) -> Location | None:
        """Ask one after the other."""
        for each in self.resolvers:
            found = each.resolve(api=api, backend=backend, kernel=kernel)
            if found is not None:
                return found
        return None


@dataclass(frozen=True)
class HubResolver:
    """A Hub."""

    trust_remote_code: Trust

    def resolve(
        self, *, api: Api | None, backend: str | None, kernel: KernelDependency
    ) -> RemoteKernel:
        """Ask for trust, then choose a build; raise when there is none."""
        found = _on_hub(session_of(api, backend=backend), kernel, self.trust_remote_code)
        return RemoteKernel.from_location(found, self.trust_remote_code)


@dataclass(frozen=True)
class HubCacheResolver:
    """What was fetched from a Hub before. Uses no network."""

    trust_remote_code: Trust

    def resolve(
        self, *, api: Api | None, backend: str | None, kernel: KernelDependency
    ) -> LocalKernel:
        """Do as ``HubResolver`` does with what is remembered; the build has to be here."""
        session = session_of(api, backend=backend, is_offline=True)
        found = _on_hub(session, kernel, self.trust_remote_code)
        return _cached(session, found, self.trust_remote_code)


@dataclass(frozen=True)
class LockedHubResolver:
    """The commits of a lock file, on a Hub."""

    kernel_locks: KernelLocks
    trust_remote_code: Trust

    def resolve(
        self, *, api: Api | None, backend: str | None, kernel: KernelDependency
    ) -> RemoteKernel:
        """Ask for trust, then choose a build of the locked commit."""
        session = session_of(api, backend=backend)
        found = _locked(session, self.kernel_locks, kernel, self.trust_remote_code)
        return RemoteKernel.from_location(found, self.trust_remote_code)


@dataclass(frozen=True)
class LockedHubCacheResolver:
    """The commits of a lock file, among what was fetched before. Uses no network."""

    kernel_locks: KernelLocks
    trust_remote_code: Trust

    def resolve(
        self, *, api: Api | None, backend: str | None, kernel: KernelDependency
    ) -> LocalKernel:
        """Do as ``LockedHubResolver`` does; the build has to be here."""
        session = session_of(api, backend=backend, is_offline=True)
        found = _locked(session, self.kernel_locks, kernel, self.trust_remote_code)
        return _cached(session, found, self.trust_remote_code)


@dataclass(frozen=True)
class KernelPathsResolver:
    """Folders, by what is asked for."""

    kernel_paths: KernelPaths

    def resolve(
        self, *, api: Api | None, backend: str | None, kernel: KernelDependency
    ) -> LocalKernel | None:
        """Return the best build in the folder that stands for ``kernel``."""
        path = self.kernel_paths.get(kernel)
        return None if path is None else _in_folder(session_of(api, backend=backend), path)


@dataclass(frozen=True)
class RepoPathsResolver:
    """Folders, by repository, whatever version is asked for."""

    local_kernels: dict[str, Path]

    def resolve(
        self, *, api: Api | None, backend: str | None, kernel: KernelDependency
    ) -> LocalKernel | None:
        """Return the best build in the folder that stands for the repository."""
        path = self.local_kernels.get(kernel.repo_id)
        return None if path is None else _in_folder(session_of(api, backend=backend), path)


@dataclass(frozen=True)
class NoopResolver:
    """Nowhere."""

    def resolve(
        self,
        *,
        api: Api | None,  # noqa: ARG002 - as for the others
        backend: str | None,  # noqa: ARG002 - as above
        kernel: KernelDependency,  # noqa: ARG002 - as above
    ) -> None:
        """Know nothing."""
        return


def resolve_local_kernel(repo_path: Path, *, backend: str | None) -> LocalKernel:
    """Return the best build under a folder.

    Raises:
        NoVariant: none fits; a ``FileNotFoundError``.
    """
    return _in_folder(session_of(None, backend=backend), repo_path)


def resolve_hub_kernel(
    repo_id: str,
    *,
    api: Api | None,
    backend: str | None,
    revision: str,
    trust_remote_code: Trust = False,
) -> RemoteKernel:
    """Return the best build on a Hub, as ``HubResolver`` does."""
    kernel = KernelDependency(repo_id, NamedRevision(revision))
    return HubResolver(trust_remote_code).resolve(api=api, backend=backend, kernel=kernel)


def resolve_hub_cache_kernel(
    api: Api | None,
    repo_id: str,
    *,
    revision: str,
    backend: str | None,
    trust_remote_code: Trust = False,
) -> LocalKernel:
    """Return the best build among those that were fetched, as ``HubCacheResolver`` does."""
    kernel = KernelDependency(repo_id, NamedRevision(revision))
    return HubCacheResolver(trust_remote_code).resolve(api=api, backend=backend, kernel=kernel)


def _on_hub(session: Session, kernel: KernelDependency, trust: Trust) -> resolvers.RemoteKernel:
    return resolvers.FromHub(trust_remote_code=trust).resolve(session, kernel.to_spec())


def _locked(
    session: Session, locks: KernelLocks, kernel: KernelDependency, trust: Trust
) -> resolvers.RemoteKernel:
    lock = locks.get(kernel)
    if lock is None:
        raise NotLocked(f"Kernel `{kernel.repo_id}` is not locked.", hint=HINT)
    # A redirect is not followed: the commit is fixed.
    selection = session.select(kernel.repo_id, revision=lock.commit, trust_remote_code=trust)
    return session.read(selection)


def _cached(session: Session, found: resolvers.RemoteKernel, trust: Trust) -> LocalKernel:
    folder = session.install(found.selection, found.variant)
    origin = RemoteKernel.from_location(found, trust)
    return LocalKernel(folder, origin.metadata, origin=origin)


def _in_folder(session: Session, path: Path) -> LocalKernel:
    return LocalKernel.from_location(resolvers.find_local(session, Path(path)))
