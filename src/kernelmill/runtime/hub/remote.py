"""A Hub over HTTP. Importing this module, with its HTTP client, is what costs: do it late."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from kernelmill.runtime.hub import answers
from kernelmill.runtime.hub.blobs import BlobStore
from kernelmill.runtime.hub.guard import ANSWER_TIMEOUT_S, downloading, time_limit
from kernelmill.runtime.hub.refusals import NO_ENTRY, REPO_TYPE, Refusal, translated_errors
from kernelmill.runtime.hub.wire import Wire, in_repo
from kernelmill.spec.errors import HubError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from kernelmill.runtime.hub import Refs, RemoteFile
    from kernelmill.runtime.hub.connection import Reply
    from kernelmill.spec.names import RepoId

DOWNLOAD_THREADS: Final = 8
"""huggingface_hub's own number for a snapshot."""
CHUNK_BYTES: Final = 1 << 20
PARTIAL_CONTENT: Final = 206
MAX_ENTRIES: Final = 100_000
"""Most files and folders one listing may have: a Hub could send pages for ever."""

Entry = TypeVar("Entry")


class RemoteHub:
    """A Hub that answers over HTTP."""

    is_offline: Final = False

    def __init__(
        self,
        endpoint: str,
        user_agent: str | Mapping[str, str] | None = None,
        *,
        timeout_s: float = ANSWER_TIMEOUT_S,
        token: str | bool | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._wire = Wire(endpoint, user_agent, token)

    @property
    def endpoint(self) -> str:
        """The Hub's base URL."""
        return self._endpoint

    def fetch_trust(self, organisation: str) -> bool | None:
        """Tell whether the Hub vouches for ``organisation``; None when there is no such one."""
        with time_limit(self._timeout_s), translated_errors(self._endpoint):
            try:
                overview = self._wire.ask(f"organizations/{organisation}/overview")
            except Refusal as error:
                if error.status in {401, 404}:
                    return None
                raise
            return answers.read_trust(overview, organisation)

    def fetch_refs(self, repo: RepoId, wanted: str = "") -> Refs:  # noqa: ARG002 - all are listed
        """Return the repository's branches and tags."""
        with time_limit(self._timeout_s), translated_errors(self._endpoint, repo=repo):
            return answers.read_refs(self._wire.ask(in_repo(repo, "refs")))

    def fetch_commit(self, repo: RepoId, revision: str) -> str:
        """Return the commit that a branch, tag, full ref or commit id names."""
        with (
            time_limit(self._timeout_s),
            translated_errors(self._endpoint, repo=repo, revision=revision),
        ):
            return answers.read_commit(self._wire.ask(in_repo(repo, "revision", revision)))

    def fetch_folders(self, repo: RepoId, commit: str, folder: str) -> tuple[str, ...]:
        """Return the names of the folders in ``folder``; none when there is no such folder."""
        paths = self._fetch_tree(repo, commit, folder, answers.read_folder, is_recursive=False)
        return tuple(sorted(path.rpartition("/")[2] for path in paths))

    def fetch_files(self, repo: RepoId, commit: str, folder: str) -> tuple[RemoteFile, ...]:
        """Return every file below ``folder``; none when there is no such folder."""
        return tuple(self._fetch_tree(repo, commit, folder, answers.read_file, is_recursive=True))

    def _fetch_tree(
        self,
        repo: RepoId,
        commit: str,
        folder: str,
        read: Callable[[Any], Entry | None],
        *,
        is_recursive: bool,
    ) -> list[Entry]:
        """Return what ``read`` makes of the entries of a listing, but for those it skips."""
        limit = time_limit(self._timeout_s)
        with limit, translated_errors(self._endpoint, repo=repo, revision=commit):
            entries = self._wire.ask_list(
                in_repo(repo, "tree", commit, folder),
                {"recursive": str(is_recursive).lower(), "expand": "false"},
            )
            try:
                listed = list(islice(entries, MAX_ENTRIES + 1))
            except Refusal as error:
                if error.kind == NO_ENTRY:
                    return []
                raise
            if len(listed) > MAX_ENTRIES:
                raise HubError(f"the Hub lists more than {MAX_ENTRIES} files in {folder!r}")
            return [found for found in map(read, listed) if found is not None]

    def download(
        self, repo: RepoId, commit: str, files: Iterable[RemoteFile], cache_dir: Path
    ) -> None:
        """Put files into ``cache_dir`` in huggingface_hub's layout; those already there stay."""
        store = BlobStore(cache_dir / f"{REPO_TYPE}s--{repo.namespace}--{repo.name}")

        def fetch(same: list[RemoteFile]) -> None:
            with translated_errors(self._endpoint, repo=repo, revision=commit):
                if not store.has(same[0]):
                    self._fetch_blob(repo, commit, same[0], store)
                for file in same:
                    store.link(file, commit)

        by_content: dict[str, list[RemoteFile]] = {}
        for file in files:
            by_content.setdefault(file.blob_name, []).append(file)
        with ThreadPoolExecutor(DOWNLOAD_THREADS, thread_name_prefix="kernelmill-fetch") as pool:
            try:
                for future in [pool.submit(fetch, same) for same in by_content.values()]:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _fetch_blob(self, repo: RepoId, commit: str, file: RemoteFile, store: BlobStore) -> None:
        """Fetch one file with one request, or go on where an earlier one stopped."""
        path = f"{REPO_TYPE}s/{repo}/resolve/{commit}/{file.path}"
        with downloading(), store.receive(file) as blob:
            if blob.is_whole:
                return

            def receive(reply: Reply) -> None:
                if reply.status != PARTIAL_CONTENT:
                    blob.restart()
                for chunk in reply.stream(CHUNK_BYTES):
                    blob.write(chunk)

            self._wire.fetch(path, receive, start=blob.size_bytes)
