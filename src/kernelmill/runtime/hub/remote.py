"""A Hub over HTTP, through huggingface_hub. Importing this module is what costs: do it late."""

from __future__ import annotations

import errno
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from kernelmill.runtime.errors import (
    AccessDenied,
    CacheUnusable,
    HubUnreachable,
    RepositoryNotFound,
    RevisionNotFound,
)
from kernelmill.runtime.hub import answers
from kernelmill.runtime.hub.blobs import BlobStore
from kernelmill.runtime.hub.guard import ANSWER_TIMEOUT_S, downloading, guard_client, time_limit
from kernelmill.runtime.hub.wire import Wire, in_repo
from kernelmill.spec.errors import HubError, KernelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from kernelmill.runtime.hub import Refs, RemoteFile
    from kernelmill.spec.names import RepoId

REPO_TYPE: Final = "kernel"
UNREACHABLE_HINT: Final = (
    "check the network and HF_ENDPOINT, or set HF_HUB_OFFLINE=1 to use the cache"
)
DOWNLOAD_THREADS: Final = 8
"""huggingface_hub's own number for a snapshot."""
CHUNK_BYTES: Final = 1 << 20
PARTIAL_CONTENT: Final = 206
TOO_MANY_REQUESTS: Final = 429
MAX_ENTRIES: Final = 100_000
"""Most files and folders one listing may have: a Hub could send pages for ever."""

# httpx2.HTTPError, the root of what a failing connection raises, without naming a dependency that
# is huggingface_hub's own choice.
_TransportError: type[BaseException] = HfHubHTTPError.__bases__[0]
_TRANSLATED: Final = (
    HfHubHTTPError,
    _TransportError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
)

log = logging.getLogger(__name__)

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
            except HfHubHTTPError as error:
                if _status(error) in {401, 404}:
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
            except EntryNotFoundError:
                return []
            if len(listed) > MAX_ENTRIES:
                raise HubError(f"the Hub lists more than {MAX_ENTRIES} files in {folder!r}")
            return [found for found in map(read, listed) if found is not None]

    def download(
        self, repo: RepoId, commit: str, files: Iterable[RemoteFile], cache_dir: Path
    ) -> None:
        """Put files into ``cache_dir`` in huggingface_hub's layout; those already there stay."""
        guard_client()
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
            with self._wire.fetch(path, start=blob.size_bytes) as reply:
                if reply.status_code != PARTIAL_CONTENT:
                    blob.restart()
                for chunk in reply.iter_bytes(CHUNK_BYTES):
                    blob.write(chunk)


@contextmanager
def translated_errors(
    endpoint: str,
    *,
    repo: RepoId | None = None,
    revision: str = "",
    unreachable_hint: str = UNREACHABLE_HINT,
) -> Iterator[None]:
    """Turn huggingface_hub's exceptions into ours: problem, place, one thing to do.

    What huggingface_hub said is in the log at level DEBUG: three tracebacks would hide ours.
    """
    where = f"{endpoint}/{REPO_TYPE}s/{repo}" if repo else endpoint
    try:
        yield
    except (*_TRANSLATED, OSError) as error:
        log.debug("%s", where, exc_info=error)
        if known := _translate(error, where, repo=repo, revision=revision):
            raise known from None
        raise HubUnreachable(
            f"the Hub does not answer ({_root_cause(error)})", where=endpoint, hint=unreachable_hint
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        # huggingface_hub takes a reply's shape for granted: this is how it meets another one.
        raise HubError(
            f"the Hub's answer makes no sense ({type(error).__name__}: {error!s:.200})",
            where=where,
            hint="check that HF_ENDPOINT is a Hub, and no page of a proxy answers for it",
        ) from error


def _translate(
    error: BaseException, where: str, *, repo: RepoId | None, revision: str
) -> KernelError | None:
    """Return what an exception means; None when it means that no answer came."""
    match error:
        case GatedRepoError():
            return AccessDenied(
                f"access to '{repo}' has to be requested from its owner",
                where=where,
                hint="open the page and ask, then set HF_TOKEN",
            )
        case RepositoryNotFoundError():
            return RepositoryNotFound(
                f"there is no kernel repository '{repo}', or you may not see it",
                where=where,
                hint="check the name; for a private repository set HF_TOKEN",
            )
        case RevisionNotFoundError():
            return RevisionNotFound(
                f"'{repo}' has no revision '{revision}'",
                where=where,
                hint=f"`kernels versions {repo}` lists what there is",
            )
        case HfHubHTTPError():
            return _refusal(error, where)
        case OSError():
            return _unwritable(error, where)
        case _:
            return None


def _unwritable(error: OSError, where: str) -> CacheUnusable | None:
    """Return what the system said of a file of the cache; None when it is about a connection."""
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
    if not is_full and not isinstance(error.filename, str | bytes):
        return None
    hint = "set KERNELS_CACHE to a folder that can be written"
    return CacheUnusable(
        f"cannot write the cache: {error.strerror}",
        where=str(error.filename or where),
        hint="make room, or set KERNELS_CACHE to a folder that has some" if is_full else hint,
    )


def _refusal(error: HfHubHTTPError, where: str) -> HubError:
    status, said = _status(error), (error.server_message or "").strip() or "no reason given"
    if status in {401, 403}:
        # A Hub that names a command gives advice of its own, and knows better.
        has_advice = "kernel-hub " in said
        return AccessDenied(
            f"the Hub refuses: {said} (HTTP {status})",
            where=where,
            hint="" if has_advice else "set HF_TOKEN to a token with the right to do this",
        )
    if isinstance(error, BadRequestError):
        return HubError(
            f"the Hub rejects the request: {said} (HTTP {status})",
            where=where,
            hint="change what the Hub objects to",
        )
    # A Hub that is overloaded or broken is as good as none: what was fetched before may be used.
    is_down = status == TOO_MANY_REQUESTS or status >= 500
    return (HubUnreachable if is_down else HubError)(
        f"the Hub failed: {said} (HTTP {status})", where=where, hint="try again in a while"
    )


def _status(error: HfHubHTTPError) -> int:
    return error.response.status_code


def _root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__
