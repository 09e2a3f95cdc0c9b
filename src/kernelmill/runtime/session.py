"""The loading of kernels, with everything it depends on as one value: host, Hub, cache, overrides.

``api`` makes a session of the process's own environment for each call.
"""

from __future__ import annotations

import logging
from dataclasses import field, replace
from typing import TYPE_CHECKING

from kernelmill.runtime import redirects, requirements, resolvers, tree
from kernelmill.runtime.cache import Cache
from kernelmill.runtime.fetch import fetch_metadata, fetch_variant
from kernelmill.runtime.hub.opening import open_hub
from kernelmill.runtime.probe import probe_devices, probe_host
from kernelmill.runtime.resolvers import FromLock, Location, RemoteKernel
from kernelmill.runtime.selection import BUILD_FOLDER, Selection, newer_version, select_build
from kernelmill.runtime.settings import read_settings
from kernelmill.runtime.trust import Trust, ensure_trusted
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import NoVariant
from kernelmill.spec.names import RepoId
from kernelmill.spec.resolve import no_variant
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.requirements import ArchCheck
    from kernelmill.runtime.tree import Node
    from kernelmill.spec.dependencies import KernelDependency
    from kernelmill.spec.host import Host
    from kernelmill.spec.lockfile import Lockfile

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Where kernels come from, and where they are to run."""

    hub: Hub
    cache: Cache
    host: Host
    local_kernels: Mapping[str, Path] = field(default_factory=dict)

    def select(
        self,
        repo_id: str,
        *,
        version: int | None = None,
        revision: str | None = None,
        trust_remote_code: Trust = False,
    ) -> Selection:
        """Choose a build of a repository on the Hub. Trust is asked first.

        Raises:
            NotTrusted: the publisher is not trusted.
            VersionNotFound: the repository has no such version.
            HubError: the Hub says no; or it does not answer, and nothing that fits is cached.
        """
        repo = RepoId.parse(repo_id)
        ensure_trusted(self.hub, repo, trust_remote_code)
        selection = self.look_up(repo, version=version, revision=revision)
        if selection.choice.news:
            log.warning("%s", selection.choice.news)
        return selection

    def look_up(
        self, repo: RepoId, *, version: int | None = None, revision: str | None = None
    ) -> Selection:
        """Choose a build without asking for trust, for those who only want to know."""
        return select_build(self.hub, self.host, repo, version=version, revision=revision)

    def find(
        self,
        repo_id: str,
        *,
        version: int | None = None,
        revision: str | None = None,
        trust_remote_code: Trust = False,
    ) -> Selection:
        """Choose a build as ``select`` does, wherever the repository has moved since.

        Every repository on the way has to be trusted.

        Raises:
            BadRedirect: the way leads in a circle, or is too long.
        """
        selection = self.select(
            repo_id, version=version, revision=revision, trust_remote_code=trust_remote_code
        )
        return redirects.follow(
            self.hub,
            self.cache,
            selection,
            lambda repo, name: self.select(
                str(repo), revision=name, trust_remote_code=trust_remote_code
            ),
        )

    def trace(
        self, repo: RepoId, *, version: int | None = None, revision: str | None = None
    ) -> Selection:
        """Choose a build as ``find`` does, for those who only want to know: asks for no trust."""
        selection = self.look_up(repo, version=version, revision=revision)
        return redirects.follow(
            self.hub, self.cache, selection, lambda it, name: self.look_up(it, revision=name)
        )

    def read(self, selection: Selection, *, locked_hash: str | None = None) -> RemoteKernel:
        """Return the chosen build with its metadata, which is all that is fetched of it.

        Raises:
            NoVariant: none fits; says why not, one by one, and whether the newest version does.
        """
        if selection.resolution.chosen is None:
            raise self._no_variant(selection)
        variant = str(selection.resolution.chosen)
        metadata = fetch_metadata(
            self.hub, self.cache, selection.repo, commit=selection.choice.commit, variant=variant
        )
        return RemoteKernel(
            selection=selection, variant=variant, metadata=metadata, locked_hash=locked_hash
        )

    def _no_variant(self, selection: Selection) -> NoVariant:
        repo, choice = selection.repo, selection.choice
        error = no_variant(
            selection.resolution, repo=str(repo), revision=choice.name, host=self.host
        )
        if self.hub.is_offline:
            return error
        advice = newer_version(self.hub, self.host, selection)
        return NoVariant(f"{error.problem}{advice}", where=error.where, hint=error.hint)

    def check(self, selection: Selection, *, check_arch: ArchCheck = True) -> str:
        """Return the chosen build's folder name, once it is known that this machine can run it."""
        kernel = self.read(selection)
        self.ensure_usable(kernel, check_arch=check_arch)
        return kernel.variant

    def ensure_usable(self, kernel: Location, *, check_arch: ArchCheck = True) -> None:
        """Stop here unless this machine has what a build asks for, apart from other kernels."""
        metadata = kernel.metadata
        requirements.ensure_supported(metadata, variant=kernel.variant)
        policy = requirements.policy_of(check_arch)
        if policy and metadata.archs:
            devices = probe_devices(metadata.backend)
            requirements.ensure_arch(metadata, devices, variant=kernel.variant, policy=policy)

    def install(self, selection: Selection, variant: str) -> Path:
        """Return the folder of a checked build, fetched if it is not here yet."""
        return fetch_variant(
            self.hub, self.cache, selection.repo, commit=selection.choice.commit, variant=variant
        )

    def folder_of(self, selection: Selection, variant: str) -> Path:
        """Return where a build is, or would be, in the cache."""
        snapshot = self.cache.snapshot(selection.repo, selection.choice.commit)
        return snapshot / BUILD_FOLDER / variant

    def plan(
        self,
        wanted: KernelDependency,
        *,
        trust_remote_code: Trust = False,
        check_arch: ArchCheck = True,
    ) -> Node:
        """Find a kernel and those that it depends on, all of them trusted and fit for this machine.

        Folders in ``local_kernels`` take the place of repositories.
        """
        chain = resolvers.usual_chain(self, trust_remote_code)
        return self._checked(tree.plan(self, wanted, chain), check_arch=check_arch)

    def plan_local(self, path: Path, *, trust_remote_code: Trust = False) -> Node:
        """Find the best build under ``path``, and the kernels that it depends on.

        Local code needs no trust: it is the caller's. What it depends on does.
        """
        chain = resolvers.usual_chain(self, trust_remote_code)
        found = tree.plan_from(self, resolvers.find_local(self, path), chain)
        return self._checked(found, check_arch=False)

    def plan_locked(
        self, repo_id: RepoId, lockfile: Lockfile, *, trust_remote_code: Trust = False
    ) -> Node:
        """Find a kernel and those that it depends on, at the commits that are locked."""
        lock = FromLock(lockfile=lockfile, trust_remote_code=trust_remote_code)
        found = tree.plan(self, lock.meant_by(repo_id), lock)
        return self._checked(found, check_arch=False)

    def _checked(self, found: Node, *, check_arch: ArchCheck) -> Node:
        tree.check(self, found, check_arch=check_arch)
        return found

    def load(self, selection: Selection, *, check_arch: ArchCheck = True) -> ModuleType:
        """Check, fetch and import what was selected, after what it depends on."""
        chain = resolvers.usual_chain(self, trust_remote_code=False)
        found = tree.plan_from(self, self.read(selection), chain)
        return tree.load(self, self._checked(found, check_arch=check_arch))


def open_session(
    *,
    backend: str | None = None,
    user_agent: str | Mapping[str, str] | None = None,
    is_offline: bool = False,
    endpoint: str | None = None,
    token: str | bool | None = None,
    is_fresh: bool = False,
) -> Session:
    """Return the session that the environment describes.

    Args:
        backend: ``cpu`` or the backend of the installed PyTorch, which is also the default.
        user_agent: said to the Hub, besides what is said anyway.
        is_offline: use no network, whatever the environment says.
        endpoint: another Hub than the environment's.
        token: for the Hub; None for the environment's, False for none.
        is_fresh: ask the Hub where branches point even if its last answer would still hold.
    """
    settings = read_settings(endpoint=endpoint)
    settings = replace(
        settings,
        is_offline=settings.is_offline or is_offline,
        max_age_s=0.0 if is_fresh else settings.max_age_s,
    )
    host = probe_host()
    if backend is not None:
        host = host.with_backend(Backend.parse(backend, where="backend"))
    cache = Cache(root=settings.cache_dir)
    return Session(
        hub=open_hub(settings, cache, user_agent, token),
        cache=cache,
        host=host,
        local_kernels=settings.local_kernels,
    )
