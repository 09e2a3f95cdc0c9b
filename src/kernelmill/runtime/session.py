"""The loading of kernels, with everything it depends on as one value: host, Hub, cache, overrides.

``api`` makes a session of the process's own environment for each call.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelmill.runtime import requirements
from kernelmill.runtime.cache import Cache
from kernelmill.runtime.fetch import fetch_metadata, fetch_variant
from kernelmill.runtime.hub.opening import open_hub
from kernelmill.runtime.load import RepoInfo, load_variant, read_metadata
from kernelmill.runtime.probe import probe_devices, probe_host
from kernelmill.runtime.selection import BUILD_FOLDER, Selection, select_build, select_local
from kernelmill.runtime.settings import read_settings
from kernelmill.runtime.trust import Trust, ensure_trusted
from kernelmill.spec.backend import Backend
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.hub import Hub
    from kernelmill.spec.host import Host

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

    def check(self, selection: Selection, *, check_arch: bool = True) -> str:
        """Return the chosen build's folder name, once it is known that this machine can run it."""
        variant = selection.require_variant(self.host)
        metadata = fetch_metadata(
            self.hub,
            self.cache,
            selection.repo,
            commit=selection.choice.commit,
            variant=variant,
        )
        requirements.ensure_supported(metadata, variant=variant)
        if check_arch and metadata.archs:
            requirements.ensure_arch(metadata, probe_devices(metadata.backend), variant=variant)
        return variant

    def install(self, selection: Selection, variant: str) -> Path:
        """Return the folder of a checked build, fetched if it is not here yet."""
        return fetch_variant(
            self.hub, self.cache, selection.repo, commit=selection.choice.commit, variant=variant
        )

    def folder_of(self, selection: Selection, variant: str) -> Path:
        """Return where a build is, or would be, in the cache."""
        snapshot = self.cache.snapshot(selection.repo, selection.choice.commit)
        return snapshot / BUILD_FOLDER / variant

    def load(self, selection: Selection, *, check_arch: bool = True) -> ModuleType:
        """Check, fetch and import what was selected."""
        variant = self.check(selection, check_arch=check_arch)
        commit = selection.choice.commit
        log.info("loading %s of %s at %s", variant, selection.repo, commit)
        return load_variant(
            self.install(selection, variant),
            root=self.cache.root,
            repo_info=RepoInfo(repo_id=str(selection.repo), revision=commit),
        )

    def has_local(self, path: Path) -> bool:
        """Tell whether a build under ``path`` fits; raise ``NoVariant`` otherwise."""
        return select_local(path.expanduser(), self.host).is_dir()

    def load_local(self, path: Path) -> ModuleType:
        """Import the best build under ``path``. Local code needs no trust: it is the caller's."""
        path = path.expanduser()
        folder = select_local(path, self.host)
        requirements.ensure_supported(read_metadata(folder), variant=folder.name)
        return load_variant(folder, root=_links_root(path.resolve()))


def _links_root(path: Path) -> Path:
    """Return the folder that the links of a local kernel may not leave.

    It is the kernel's own, or huggingface_hub's cache for a snapshot there, whose files are links.
    """
    for parent in path.parents:
        if parent.name == "snapshots" and parent.parent.name.startswith(("kernels--", "models--")):
            return parent.parent.parent
    return path


def open_session(
    *, backend: str | None = None, user_agent: str | Mapping[str, str] | None = None
) -> Session:
    """Return the session that the environment describes.

    Args:
        backend: ``cpu`` or the backend of the installed PyTorch, which is also the default.
        user_agent: said to the Hub, besides what is said anyway.
    """
    settings = read_settings()
    host = probe_host()
    if backend is not None:
        host = host.with_backend(Backend.parse(backend, where="backend"))
    cache = Cache(root=settings.cache_dir)
    return Session(
        hub=open_hub(settings, cache, user_agent),
        cache=cache,
        host=host,
        local_kernels=settings.local_kernels,
    )
