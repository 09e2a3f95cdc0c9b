"""Uploads over HTTP, through huggingface_hub, which costs 0.2 s to import: do it late."""

from __future__ import annotations

import logging
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    HfApi,
    RepoFile,
)
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError
from huggingface_hub.utils.tqdm import (
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)

from kernelmill.runtime.hub.client import guard_client, translated_client_errors
from kernelmill.runtime.hub.guard import time_limit
from kernelmill.runtime.settings import API_VERSION, read_settings
from kernelmill.spec.errors import HubError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kernelmill.spec.names import RepoId
    from kernelmill.spec.publication import RepoType


log = logging.getLogger(__name__)

PREPARE_TIMEOUT_S: Final = 30.0
"""How long a Hub may take over each step but the commit, whose time nobody knows beforehand."""


class RemotePublisher:
    """A repository that takes uploads over HTTP."""

    def __init__(self, endpoint: str, repo: RepoId, repo_type: RepoType) -> None:
        self.endpoint = endpoint
        self._repo = repo
        self._repo_type = repo_type
        self._api = HfApi(endpoint=endpoint, library_name="kernels", library_version=API_VERSION)

    @contextmanager
    def _translated(self, revision: str = "") -> Iterator[None]:
        """Turn huggingface_hub's exceptions into ours. A cache is of no help to an upload."""
        hint = "unset HF_HUB_OFFLINE" if read_settings().is_offline else "check the network"
        guard_client()
        with translated_client_errors(
            self.endpoint,
            repo=self._repo,
            revision=revision,
            unreachable_hint=f"{hint}, and check HF_ENDPOINT",
        ):
            yield

    def ensure_repo(self, *, is_private: bool) -> None:
        """Create the repository unless it exists."""
        with time_limit(PREPARE_TIMEOUT_S), self._translated():
            # None leaves the Hub's default, and the visibility of a repository that exists.
            self._api.create_repo(
                str(self._repo),
                repo_type=self._repo_type,
                private=is_private or None,
                exist_ok=True,
            )

    def fetch_branches(self) -> Mapping[str, str]:
        """Return the branches: name -> commit."""
        with time_limit(PREPARE_TIMEOUT_S), self._translated():
            refs = self._api.list_repo_refs(str(self._repo), repo_type=self._repo_type)
        return {ref.name: ref.target_commit for ref in refs.branches}

    def create_branch(self, branch: str, commit: str) -> None:
        """Create a branch that starts at ``commit``."""
        with (
            time_limit(PREPARE_TIMEOUT_S),
            self._translated(commit),
        ):
            self._api.create_branch(
                str(self._repo), branch=branch, revision=commit, repo_type=self._repo_type
            )

    def delete_branch(self, branch: str) -> None:
        """Delete a branch."""
        with (
            time_limit(PREPARE_TIMEOUT_S),
            self._translated(branch),
        ):
            self._api.delete_branch(str(self._repo), branch=branch, repo_type=self._repo_type)

    def fetch_paths(self, commit: str, folder: str) -> tuple[str, ...]:
        """Return the paths of the files below ``folder``; none when there is no such folder."""
        with (
            time_limit(PREPARE_TIMEOUT_S),
            self._translated(commit),
        ):
            try:
                entries = list(
                    self._api.list_repo_tree(
                        str(self._repo),
                        folder,
                        recursive=True,
                        revision=commit,
                        repo_type=self._repo_type,
                    )
                )
            except EntryNotFoundError:
                return ()
        return tuple(entry.path for entry in entries if isinstance(entry, RepoFile))

    def commit(
        self,
        branch: str,
        *,
        parent: str,
        additions: Mapping[str, Path],
        deletions: Sequence[str],
        message: str,
    ) -> str:
        """Make one commit on top of ``parent``, and return the branch's commit afterwards."""
        with (
            self._translated(branch),
            _logged_warnings(),
            _bars_on_terminals_only(),
        ):
            try:
                return self._api.create_commit(
                    str(self._repo),
                    _operations(additions, deletions),
                    commit_message=message,
                    repo_type=self._repo_type,
                    revision=branch,
                    parent_commit=parent,
                ).oid
            except HfHubHTTPError as error:
                if error.response.status_code in {409, 412}:
                    raise HubError(
                        f"'{branch}' of '{self._repo}' changed during the upload",
                        where=self.endpoint,
                        hint="somebody else uploads, too: run the command again",
                    ) from error
                raise
            except ValueError as error:
                raise HubError(
                    f"the upload is not acceptable: {' '.join(str(error).split())}",
                    where=self.endpoint,
                    hint="correct the card's metadata block",
                ) from error


def _operations(
    additions: Mapping[str, Path], deletions: Sequence[str]
) -> list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete]:
    return [
        *(
            CommitOperationAdd(path_in_repo=target, path_or_fileobj=source)
            for target, source in sorted(additions.items())
        ),
        *(CommitOperationDelete(path_in_repo=path, is_folder=False) for path in deletions),
    ]


@contextmanager
def _bars_on_terminals_only() -> Iterator[None]:
    """Have huggingface_hub draw its bars where they are seen: a log would be full of them."""
    is_ours = not (sys.stderr.isatty() or are_progress_bars_disabled())
    if is_ours:
        disable_progress_bars()
    try:
        yield
    finally:
        if is_ours:
            enable_progress_bars()


@contextmanager
def _logged_warnings() -> Iterator[None]:
    """Log what huggingface_hub warns of: its caller is no Python code of the user's."""
    spoken = logging.getLogger("huggingface_hub.hf_api")
    spoken.addFilter(_is_news)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        spoken.removeFilter(_is_news)
    for warning in caught:
        log.warning("%s", " ".join(str(warning.message).split()))


def _is_news(record: logging.LogRecord) -> bool:
    """Tell whether the caller does not say the same in its own words."""
    return not record.getMessage().startswith("No files have been modified")
