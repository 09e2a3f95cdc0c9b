"""Send a planned upload to a Hub: the builds to their version's branch, the card to ``main``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kernelmill.runtime.revisions import DEFAULT_BRANCH
from kernelmill.runtime.selection import BUILD_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kernelmill.spec.names import RepoId
    from kernelmill.spec.publication import Publication, RepoType, Upload

OWNED_FOLDERS: Final = (BUILD_FOLDER, "benchmarks")
"""What a branch that is made for an upload holds nothing else of."""
MESSAGE: Final = "Uploaded using `kernels upload`."


class Publisher(Protocol):
    """One repository on a Hub, as seen by somebody who uploads to it.

    Methods raise a ``HubError`` when the Hub cannot be reached or says no.
    """

    @property
    def endpoint(self) -> str:
        """The Hub's base URL."""

    def ensure_repo(self, *, is_private: bool) -> None:
        """Create the repository unless it exists."""

    def fetch_branches(self) -> Mapping[str, str]:
        """Return the branches: name -> commit."""

    def create_branch(self, branch: str) -> None:
        """Create a branch that starts where ``main`` is."""

    def fetch_paths(self, commit: str, folder: str) -> tuple[str, ...]:
        """Return the paths of the files below ``folder``; none when there is no such folder."""

    def commit(
        self,
        branch: str,
        *,
        parent: str,
        additions: Mapping[str, Path],
        deletions: Sequence[str],
        message: str,
    ) -> str:
        """Make one commit, and return the branch's commit afterwards.

        Args:
            branch: where to commit.
            parent: the commit that the branch has; if it has another by now, this fails.
            additions: path on the Hub -> local file.
            deletions: paths on the Hub.
            message: the commit's first line.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What an upload did."""

    repo_id: str
    branch: str
    url: str
    """The page of the branch, on the Hub that was used."""
    commits: Mapping[str, str]
    """Branch -> its commit now."""
    deleted: tuple[str, ...]
    """Stale files that went away."""


def publish(
    plan: Publication,
    folder: Path,
    publisher: Publisher,
    *,
    is_private: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> Published:
    """Carry out ``plan``: one commit per branch, builds first.

    Args:
        plan: what goes where.
        folder: the kernel's repository on disk.
        publisher: the repository on the Hub.
        is_private: create the repository private, if it has to be created.
        report: told about each step.
    """
    branch = plan.version_branch
    publisher.ensure_repo(is_private=is_private)
    branches = publisher.fetch_branches()
    replaced: tuple[str, ...] = plan.replaced
    if branch not in branches:
        report(f"creating branch {branch}")
        publisher.create_branch(branch)
        branches = publisher.fetch_branches()
        replaced = OWNED_FOLDERS
    deleted = _stale_paths(plan, publisher, branches[branch], replaced)
    commits = {}
    for name, uploads in _uploads_by_branch(plan).items():
        report(f"uploading {_amount(uploads, folder)} to {plan.repo_id} {name}")
        commits[name] = publisher.commit(
            name,
            parent=branches[name],
            additions={each.target: folder / each.source for each in uploads},
            deletions=deleted if name == branch else (),
            message=MESSAGE,
        )
    return Published(
        repo_id=str(plan.repo_id),
        branch=branch,
        url=branch_url(publisher.endpoint, plan.repo_id, plan.repo_type, branch),
        commits=commits,
        deleted=deleted,
    )


def branch_url(endpoint: str, repo: RepoId, repo_type: RepoType, branch: str) -> str:
    """Return the address of a branch's page."""
    prefix = "kernels/" if repo_type == "kernel" else ""
    return f"{endpoint}/{prefix}{repo}/tree/{branch}"


def _uploads_by_branch(plan: Publication) -> dict[str, tuple[Upload, ...]]:
    """Return what goes to each branch, the builds' branch first; one that gets nothing is out."""
    uploads = {plan.version_branch: plan.version_files}
    uploads[DEFAULT_BRANCH] = (*uploads.get(DEFAULT_BRANCH, ()), *plan.main_files)
    return {branch: files for branch, files in uploads.items() if files}


def _stale_paths(
    plan: Publication, publisher: Publisher, commit: str, folders: tuple[str, ...]
) -> tuple[str, ...]:
    kept = {upload.target for upload in plan.version_files}
    there = (path for folder in folders for path in publisher.fetch_paths(commit, folder))
    return tuple(sorted(set(there) - kept))


def _amount(uploads: Sequence[Upload], folder: Path) -> str:
    size_bytes = sum((folder / each.source).stat().st_size for each in uploads)
    count = len(uploads)
    return f"{count} file{'s' if count != 1 else ''} ({size_bytes / 1e6:.1f} MB)"
