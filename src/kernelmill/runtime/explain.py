"""What ``get_kernel`` would do with a repository, and why, as a value to print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.runtime import tree
from kernelmill.runtime.bundles import find_bundled
from kernelmill.runtime.errors import CacheUnusable
from kernelmill.runtime.fetch import is_complete
from kernelmill.runtime.resolvers import usual_chain
from kernelmill.runtime.revisions import versions_of
from kernelmill.runtime.trust import check_publisher
from kernelmill.spec.errors import HubError, KernelError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.revisions import Choice
    from kernelmill.runtime.selection import Selection
    from kernelmill.runtime.session import Session
    from kernelmill.spec.dependencies import KernelDependency
    from kernelmill.spec.host import Host
    from kernelmill.spec.resolve import Resolution


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A kernel that another one needs, and what would become of it."""

    wanted: KernelDependency
    found: str
    """Where it is: a repository with its revision, or a folder; empty where it is not."""
    objection: str
    """Why it cannot be had; empty when it can."""

    def as_json(self) -> dict[str, object]:
        """Return the dependency in JSON's types."""
        return {
            "repo": str(self.wanted.repo_id),
            "version": self.wanted.version,
            "revision": self.wanted.revision,
            "found": self.found or None,
            "reason": self.objection,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The way from a repository's name to a folder of files."""

    repo: str
    endpoint: str
    distrust: str
    """Why its code would be refused; empty when it would not."""
    choice: Choice
    resolution: Resolution
    host: Host
    folder: Path | None
    """Where the chosen build is, or would be, in the cache."""
    versions: tuple[int, ...]
    """The versions there are; looked up only where the revision holds no builds."""
    is_cached: bool
    """Whether all of the chosen build has been fetched."""
    override: Path | None = None
    """The folder of ``LOCAL_KERNELS`` or of a bundle that is loaded instead of all this."""
    redirected_from: tuple[str, ...] = ()
    """The repositories that led to ``repo``, the one that was asked for first."""
    dependencies: tuple[Dependency, ...] = ()
    """The kernels that the chosen build needs."""

    @property
    def would_load(self) -> str:
        """The build that the call would load; empty when it would be refused, or none fits."""
        chosen = self.resolution.chosen
        is_refused = self.distrust or any(it.objection for it in self.dependencies)
        return str(chosen) if chosen and not is_refused else ""

    def as_json(self) -> dict[str, object]:
        """Return the explanation as the command's ``--json`` gives it."""
        chosen = self.resolution.chosen
        return {
            "version": 1,
            "repo": self.repo,
            "endpoint": self.endpoint,
            "trust": {"is_trusted": not self.distrust, "reason": self.distrust},
            "revision": {
                "name": self.choice.name,
                "commit": self.choice.commit,
                "version": self.choice.version,
                "advice": self.choice.advice,
            },
            "host": host_json(self.host),
            "variants": [
                {
                    "name": str(each.variant),
                    "fits": not each.objection,
                    "reason": each.objection,
                    "note": each.note,
                }
                for each in self.resolution.trace
            ],
            "skipped": list(self.resolution.skipped),
            "chosen": str(chosen) if chosen else None,
            "would_load": self.would_load or None,
            "folder": str(self.folder) if self.folder else None,
            "is_cached": self.is_cached,
            "override": str(self.override) if self.override else None,
            "redirected_from": list(self.redirected_from),
            "dependencies": [it.as_json() for it in self.dependencies],
        }


def explain(
    session: Session, repo_id: str, *, version: int | None = None, revision: str | None = None
) -> Explanation:
    """Return what ``get_kernel`` would do with the same arguments. Fetches metadata alone."""
    repo = RepoId.parse(repo_id)
    selection = session.trace(repo, version=version, revision=revision)
    distrust = _distrust(session, (*selection.redirected_from, selection.repo))
    chosen = selection.resolution.chosen
    return Explanation(
        repo=str(selection.repo),
        endpoint=session.hub.endpoint,
        distrust=distrust,
        choice=selection.choice,
        resolution=selection.resolution,
        host=session.host,
        folder=session.folder_of(selection, str(chosen)) if chosen else None,
        versions=() if selection.resolution.trace else _versions(session, repo),
        is_cached=chosen is not None
        and is_complete(session.cache, selection.repo, selection.choice.commit, str(chosen)),
        override=session.local_kernels.get(repo_id)
        or find_bundled(repo, version=version, revision=revision),
        redirected_from=tuple(map(str, selection.redirected_from)),
        dependencies=_dependencies(session, selection) if chosen and not distrust else (),
    )


def _distrust(session: Session, repos: tuple[RepoId, ...]) -> str:
    objections = (check_publisher(session.hub, repo) for repo in repos)
    return next(filter(None, objections), "")


def _dependencies(session: Session, selection: Selection) -> tuple[Dependency, ...]:
    """Look for each kernel that the chosen build needs, and for what that needs in turn."""
    try:
        metadata = session.read(selection).metadata
    except CacheUnusable:  # there is no place for it: what is known without it is worth saying
        return ()
    chain = usual_chain(session, trust_remote_code=False)
    found = []
    for wanted in metadata.kernel_depends:
        place = objection = ""
        try:
            plan = tree.plan(session, wanted, chain)
            place = str(plan.location)
            tree.check(session, plan, check_arch=True)
        except KernelError as error:
            objection = error.problem
        found.append(Dependency(wanted=wanted, found=place, objection=objection))
    return tuple(found)


def _versions(session: Session, repo: RepoId) -> tuple[int, ...]:
    try:
        return tuple(sorted(versions_of(session.hub.fetch_refs(repo))))
    except HubError:  # what was asked for is known: this would only have been advice
        return ()


def host_json(host: Host) -> dict[str, object]:
    """Return the facts about a host in JSON's types."""
    return {
        "cpu": host.cpu,
        "os": host.os,
        "python": dotted(host.python),
        "is_free_threaded": host.is_free_threaded,
        "glibc": dotted(host.glibc),
        "torch": host.torch.text if host.torch else None,
        "cxx11_abi": host.cxx11_abi,
        "tvm_ffi": dotted(host.tvm_ffi),
        "backend": host.backend.value,
        "backend_version": dotted(host.backend_version),
        "devices": [device.arch for device in host.devices],
    }


def dotted(version: tuple[int, int] | None) -> str | None:
    """Return ``"M.m"``."""
    return f"{version[0]}.{version[1]}" if version else None
