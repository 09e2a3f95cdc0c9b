"""What ``get_kernel`` would do with a repository, and why, as a value to print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.runtime.fetch import is_complete
from kernelmill.runtime.revisions import versions_of
from kernelmill.runtime.trust import check_publisher
from kernelmill.spec.errors import HubError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.revisions import Choice
    from kernelmill.runtime.session import Session
    from kernelmill.spec.host import Host
    from kernelmill.spec.resolve import Resolution


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

    @property
    def would_load(self) -> str:
        """The build that the call would load; empty when it would be refused, or none fits."""
        chosen = self.resolution.chosen
        return str(chosen) if chosen and not self.distrust else ""

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
        }


def explain(
    session: Session, repo_id: str, *, version: int | None = None, revision: str | None = None
) -> Explanation:
    """Return what ``get_kernel`` would do with the same arguments. Fetches no file of a kernel."""
    repo = RepoId.parse(repo_id)
    distrust = check_publisher(session.hub, repo)
    selection = session.look_up(repo, version=version, revision=revision)
    chosen = selection.resolution.chosen
    return Explanation(
        repo=str(repo),
        endpoint=session.hub.endpoint,
        distrust=distrust,
        choice=selection.choice,
        resolution=selection.resolution,
        host=session.host,
        folder=session.folder_of(selection, str(chosen)) if chosen else None,
        versions=() if selection.resolution.trace else _versions(session, repo),
        is_cached=chosen is not None
        and is_complete(session.cache, repo, selection.choice.commit, str(chosen)),
    )


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
