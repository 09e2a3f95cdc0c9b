"""Send a planned upload to a Hub: the builds to their version's branch, the card to ``main``."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Protocol

from kernelmill.runtime.files import shown_size
from kernelmill.runtime.revisions import DEFAULT_BRANCH
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec.errors import HubError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kernelmill.spec.names import RepoId
    from kernelmill.spec.publication import Publication, RepoType, Upload

OWNED_FOLDERS: Final = (BUILD_FOLDER, "benchmarks")
"""What a branch that is made for an upload holds nothing else of."""
MESSAGE: Final = "Uploaded using `kernels upload`."
BATCH_BYTES: Final = 32 << 20
"""How much of a new version is sent at a time: what an interrupted upload has to send again."""
BATCH_FILES: Final = 500
_LAST: Final = ("metadata.json", "metadata.json.sigstore")
"""What makes a folder a build is sent after all else."""


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
    """Carry out ``plan``. The builds come last, and readers see all of them at once, or none.

    A version that the Hub has gets one commit. A new one is made on a branch of its own, in
    batches, and gets its name when it is whole: the same upload, run again after it was
    interrupted, goes on there. Files that the Hub holds already are not sent.

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
        upload.forget_staging(branches)
    else:
        commit, deleted = upload.make_branch(branches, uploads[plan.version_branch])
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
        size_bytes = sum(map(self.size_of, uploads))
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

    def size_of(self, upload: Upload) -> int:
        """Return the size of a local file, in bytes."""
        return (self.folder / upload.source).stat().st_size

    def make_branch(
        self, branches: Mapping[str, str], uploads: Sequence[Upload]
    ) -> tuple[str, tuple[str, ...]]:
        """Make the version's branch, whole from its first moment; return its commit and what went.

        An empty ``vN`` would be the newest version for everybody who names none: so the commits
        are made on another branch, and ``vN`` starts at the last of them.
        """
        branch, staging = self.plan.version_branch, staging_branch(self.plan)
        commit = start = branches.get(staging, branches[DEFAULT_BRANCH])
        if staging in branches:
            self.report(f"going on with an upload that was interrupted, on {staging}")
        else:
            self.publisher.create_branch(staging, start)
        batches = list(self.batches(uploads))
        try:
            deleted = self.stale_paths(start, OWNED_FOLDERS)
            for number, batch in enumerate(batches, start=1):
                shown = f"{branch}, part {number} of {len(batches)}" if len(batches) > 1 else branch
                stale = deleted if number == 1 else ()
                parent, commit = commit, self.commit(staging, commit, batch, stale, shown=shown)
                if commit == parent:
                    self.report("  these very files were there already")
            self.publisher.create_branch(branch, commit)
        except BaseException:
            if commit != start or staging in branches:
                self.report("what was sent stays there: run the same command again to go on")
            else:
                self.forget_staging({staging: commit})
            raise
        self.forget_staging({staging: commit})
        return commit, deleted

    def forget_staging(self, branches: Mapping[str, str]) -> None:
        """Delete the branch where a new version was made, if it is one of ``branches``."""
        staging = staging_branch(self.plan)
        if staging in branches:
            with suppress(HubError):
                self.publisher.delete_branch(staging)

    def batches(self, uploads: Sequence[Upload]) -> Iterator[tuple[Upload, ...]]:
        """Yield ``uploads`` in parts, of which the last one has the metadata."""
        ordered = sorted(uploads, key=lambda it: it.target.rpartition("/")[2] in _LAST)
        batch: list[Upload] = []
        size_bytes = 0
        for upload in ordered:
            more = self.size_of(upload)
            if batch and (size_bytes + more > BATCH_BYTES or len(batch) == BATCH_FILES):
                yield tuple(batch)
                batch, size_bytes = [], 0
            batch.append(upload)
            size_bytes += more
        yield tuple(batch)


def staging_branch(plan: Publication) -> str:
    """Return the branch where a new version is made: the same one for the same files.

    No loader takes its name for a version.
    """
    targets = "\n".join(sorted(each.target for each in plan.version_files))
    return f"{plan.version_branch}-upload-{sha256(targets.encode()).hexdigest()[:8]}"


def branch_url(endpoint: str, repo: RepoId, repo_type: RepoType, branch: str) -> str:
    """Return the address of a branch's page."""
    prefix = "kernels/" if repo_type == "kernel" else ""
    return f"{endpoint}/{prefix}{repo}/tree/{branch}"


def _uploads_by_branch(plan: Publication) -> dict[str, tuple[Upload, ...]]:
    """Return what goes to each branch that gets anything."""
    uploads = {plan.version_branch: plan.version_files}
    uploads[DEFAULT_BRANCH] = (*uploads.get(DEFAULT_BRANCH, ()), *plan.main_files)
    return {branch: files for branch, files in uploads.items() if files}
