"""Repositories that have moved, as the original's ``kernels.status`` reads them. Loads nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelmill.runtime.redirects import fetch_redirect
from kernelmill.runtime.revisions import choose_revision
from kernelmill.runtime.upstream.sessions import session_of
from kernelmill.spec import status as spec
from kernelmill.spec.errors import StatusError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from kernelmill.runtime.upstream.sessions import Api


@dataclass(frozen=True)
class Redirect:
    """A repository's kernel lives somewhere else now."""

    kind: str
    destination: str
    revision: str

    @staticmethod
    def from_spec(status: spec.Redirect) -> Redirect:
        """Return the same redirect in this shape."""
        return Redirect("redirect", str(status.destination), status.revision)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Redirect:
        """Read the table of a status file.

        Raises:
            StatusError: it says something else; a ``ValueError``.
        """
        if data.get("kind") != "redirect":
            raise StatusError(f"{spec.FILE_NAME} kind must be 'redirect' for Redirect")
        return Redirect.from_spec(spec.read(data))


KernelStatusKind = Redirect


class KernelStatus:
    """The two ways to a status."""

    @staticmethod
    def from_toml(content: str) -> KernelStatusKind:
        """Read a status file.

        Raises:
            StatusError: it is none, or of another kind; a ``ValueError``.
        """
        return Redirect.from_spec(spec.parse(content))

    @staticmethod
    def check_status(api: Api | None, repo_id: str, revision: str) -> KernelStatusKind | None:
        """Return what a repository says of itself; None when it says nothing."""
        session, repo = session_of(api), RepoId.parse(repo_id)
        choice = choose_revision(session.hub, repo, revision=revision)
        found = fetch_redirect(session.hub, session.cache, repo, choice)
        return None if found is None else Redirect.from_spec(found)


def resolve_status(api: Api | None, repo_id: str, revision: str) -> tuple[str, str]:
    """Return the repository and the revision that a repository leads to, often themselves.

    One step: where that repository leads to is not asked, nor whether it is trusted.
    """
    status = KernelStatus.check_status(api, repo_id, revision)
    return (repo_id, revision) if status is None else (status.destination, status.revision)
