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
    """A Hub, as seen by somebody who uploads. Methods raise a ``HubError`` when the Hub says no."""

    @property
    def endpoint(self) -> str:
        """The Hub's base URL."""

    def ensure_repo(self, repo: RepoId, repo_type: RepoType, *, is_private: bool) -> None:
        """Create the repository unless it exists."""

    def fetch_branches(self, repo: RepoId, repo_type: RepoType) -> Mapping[str, str]:
        """Return the branches: name -> commit."""

    def create_branch(self, repo: RepoId, repo_type: RepoType, branch: str) -> None:
        """Create a branch that starts where ``main`` is."""

    def fetch_paths(
        self, repo: RepoId, repo_type: RepoType, commit: str, folder: str
    ) -> tuple[str, ...]:
        """Return the paths of the files below ``folder``; none when there is no such folder."""

    def commit(
        self,
        repo: RepoId,
        repo_type: RepoType,
        branch: str,
        *,
        parent: str,
        additions: Mapping[str, Path],
        deletions: Sequence[str],
        message: str,
    ) -> str:
        """Make one commit on top of ``parent``, and return the branch's commit afterwards.

        Args:
            repo: the repository.
            repo_type: its kind.
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
        publisher: the Hub.
        is_private: create the repository private, if it has to be created.
        report: told about each step.
    """
    repo, kind, branch = plan.repo_id, plan.repo_type, plan.version_branch
    publisher.ensure_repo(repo, kind, is_private=is_private)
    branches = publisher.fetch_branches(repo, kind)
    replaced: tuple[str, ...] = plan.replaced
    if branch not in branches:
        report(f"creating branch {branch}")
        publisher.create_branch(repo, kind, branch)
        branches = publisher.fetch_branches(repo, kind)
        replaced = OWNED_FOLDERS
    deleted = _stale_paths(plan, publisher, branches[branch], replaced)
    additions = {DEFAULT_BRANCH: plan.main_files}
    additions[branch] = (*additions.get(branch, ()), *plan.version_files)
    commits = {}
    for name in sorted(additions, key=lambda each: each != branch):
        if not additions[name]:
            continue
        report(f"uploading {_amount(additions[name], folder)} to {repo} {name}")
        commits[name] = publisher.commit(
            repo,
            kind,
            name,
            parent=branches[name],
            additions={each.target: folder / each.source for each in additions[name]},
            deletions=deleted if name == branch else (),
            message=MESSAGE,
        )
    return Published(
        repo_id=str(repo),
        branch=branch,
        url=branch_url(publisher.endpoint, repo, kind, branch),
        commits=commits,
        deleted=deleted,
    )


def branch_url(endpoint: str, repo: RepoId, repo_type: RepoType, branch: str) -> str:
    """Return the address of a branch's page."""
    prefix = "kernels/" if repo_type == "kernel" else ""
    return f"{endpoint}/{prefix}{repo}/tree/{branch}"


def _stale_paths(
    plan: Publication, publisher: Publisher, commit: str, folders: tuple[str, ...]
) -> tuple[str, ...]:
    kept = {upload.target for upload in plan.version_files}
    there = (
        path
        for folder in folders
        for path in publisher.fetch_paths(plan.repo_id, plan.repo_type, commit, folder)
    )
    return tuple(sorted(set(there) - kept))


def _amount(uploads: Sequence[Upload], folder: Path) -> str:
    size_bytes = sum((folder / each.source).stat().st_size for each in uploads)
    count = len(uploads)
    return f"{count} file{'s' if count != 1 else ''} ({size_bytes / 1e6:.1f} MB)"
