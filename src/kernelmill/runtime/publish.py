"""Send a planned upload to a Hub: the builds to their version's branch, the card to ``main``."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kernelmill.runtime.files import shown_size
from kernelmill.runtime.revisions import DEFAULT_BRANCH
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec.errors import HubError

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

    def create_branch(self, branch: str, commit: str) -> None:
        """Create a branch that starts at ``commit``."""

    def delete_branch(self, branch: str) -> None:
        """Delete a branch."""

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
    is_changed: bool
    """Whether the Hub held anything else before."""


def publish(
    plan: Publication,
    folder: Path,
    publisher: Publisher,
    *,
    is_private: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> Published:
    """Carry out ``plan``: one commit per branch. The builds come last, all at once.

    Args:
        plan: what goes where.
        folder: the kernel's repository on disk.
        publisher: the repository on the Hub.
        is_private: create the repository private, if it has to be created.
        report: told about each step.
    """
    publisher.ensure_repo(is_private=is_private)
    branches = publisher.fetch_branches()
    upload = _Upload(plan=plan, folder=folder, publisher=publisher, report=report)
    commits = {}
    uploads = _uploads_by_branch(plan)
    if DEFAULT_BRANCH in uploads and plan.version_branch != DEFAULT_BRANCH:
        main = branches[DEFAULT_BRANCH]
        commits[DEFAULT_BRANCH] = upload.commit(DEFAULT_BRANCH, main, uploads[DEFAULT_BRANCH], ())
    if plan.version_branch in branches:
        parent = branches[plan.version_branch]
        deleted = upload.stale_paths(parent, plan.replaced)
        commit = upload.commit(plan.version_branch, parent, uploads[plan.version_branch], deleted)
    else:
        parent = branches[DEFAULT_BRANCH]
        deleted = upload.stale_paths(parent, OWNED_FOLDERS)
        commit = upload.commit_new_branch(parent, uploads[plan.version_branch], deleted)
    commits[plan.version_branch] = commit
    return Published(
        repo_id=str(plan.repo_id),
        branch=plan.version_branch,
        url=branch_url(publisher.endpoint, plan.repo_id, plan.repo_type, plan.version_branch),
        commits=commits,
        deleted=deleted,
        is_changed=any(branches.get(name) != each for name, each in commits.items()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upload:
    plan: Publication
    folder: Path
    publisher: Publisher
    report: Callable[[str], None]

    def stale_paths(self, commit: str, folders: tuple[str, ...]) -> tuple[str, ...]:
        """Return what is in ``folders`` at ``commit`` and is not uploaded again."""
        kept = {upload.target for upload in self.plan.version_files}
        there = {path for folder in folders for path in self.publisher.fetch_paths(commit, folder)}
        return tuple(sorted(there - kept))

    def commit(
        self,
        branch: str,
        parent: str,
        uploads: Sequence[Upload],
        deleted: tuple[str, ...],
        shown: str = "",
    ) -> str:
        """Make one commit and return it. ``shown`` is what the branch is called in the report."""
        size_bytes = sum((self.folder / each.source).stat().st_size for each in uploads)
        files = f"{len(uploads)} file{'s' if len(uploads) != 1 else ''}"
        amount = f"{files} ({shown_size(size_bytes)})"
        self.report(f"uploading {amount} to {self.plan.repo_id} {shown or branch}")
        return self.publisher.commit(
            branch,
            parent=parent,
            additions={each.target: self.folder / each.source for each in uploads},
            deletions=deleted,
            message=MESSAGE,
        )

    def commit_new_branch(
        self, start: str, uploads: Sequence[Upload], deleted: tuple[str, ...]
    ) -> str:
        """Make the version's branch, whole from its first moment, and return its commit.

        An empty ``vN`` would be the newest version for everybody who names none: so the commit is
        made on another branch, and ``vN`` starts at it.
        """
        branch = self.plan.version_branch
        staging = f"{branch}-upload-{secrets.token_hex(4)}"
        self.publisher.create_branch(staging, start)
        try:
            commit = self.commit(staging, start, uploads, deleted, shown=branch)
            self.publisher.create_branch(branch, commit)
        finally:
            with suppress(HubError):
                self.publisher.delete_branch(staging)
        return commit


def branch_url(endpoint: str, repo: RepoId, repo_type: RepoType, branch: str) -> str:
    """Return the address of a branch's page."""
    prefix = "kernels/" if repo_type == "kernel" else ""
    return f"{endpoint}/{prefix}{repo}/tree/{branch}"


def _uploads_by_branch(plan: Publication) -> dict[str, tuple[Upload, ...]]:
    """Return what goes to each branch that gets anything."""
    uploads = {plan.version_branch: plan.version_files}
    uploads[DEFAULT_BRANCH] = (*uploads.get(DEFAULT_BRANCH, ()), *plan.main_files)
    return {branch: files for branch, files in uploads.items() if files}
