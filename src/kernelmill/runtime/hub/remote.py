"""A Hub over HTTP, through huggingface_hub. Importing this module is what costs: do it late."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from huggingface_hub import HfApi, RepoFile, RepoFolder, hf_hub_url
from huggingface_hub.constants import HF_HUB_DOWNLOAD_TIMEOUT
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
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    hf_raise_for_status,
    http_stream_backoff,
)

from kernelmill.runtime.errors import (
    AccessDenied,
    CacheUnusable,
    HubUnreachable,
    RepositoryNotFound,
    RevisionNotFound,
)
from kernelmill.runtime.hub import Refs, RemoteFile
from kernelmill.runtime.hub.blobs import BlobStore
from kernelmill.runtime.hub.guard import (
    ANSWER_TIMEOUT_S,
    ensure_commit,
    ensure_hash,
    guard_client,
    time_limit,
)
from kernelmill.runtime.settings import API_VERSION
from kernelmill.spec.errors import HubError, KernelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from kernelmill.spec.names import RepoId

REPO_TYPE: Final = "kernel"
UNREACHABLE_HINT: Final = (
    "check the network and HF_ENDPOINT, or set HF_HUB_OFFLINE=1 to use the cache"
)
DOWNLOAD_THREADS: Final = 8
"""huggingface_hub's own number for a snapshot."""
DOWNLOAD_RETRIES: Final = 3
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


class RemoteHub:
    """A Hub that answers over HTTP."""

    is_offline: Final = False

    def __init__(
        self,
        endpoint: str,
        user_agent: str | Mapping[str, str] | None = None,
        *,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        # NOTE: huggingface_hub reads HF_ENDPOINT when it is imported; ours is of this call.
        self._user_agent = (
            user_agent if user_agent is None or isinstance(user_agent, str) else dict(user_agent)
        )
        self._api = HfApi(
            endpoint=endpoint,
            library_name="kernels",
            library_version=API_VERSION,
            user_agent=self._user_agent,
        )

    @property
    def endpoint(self) -> str:
        """The Hub's base URL."""
        return self._endpoint

    def fetch_trust(self, organisation: str) -> bool | None:
        """Tell whether the Hub vouches for ``organisation``; None when there is no such one."""
        with time_limit(self._timeout_s), translated_errors(self._endpoint):
            try:
                overview = self._api.get_organization_overview(organisation)
            except HfHubHTTPError as error:
                if _status(error) in {401, 404}:
                    return None
                raise
        # Another organisation's answer, as after a redirect, says nothing about this one.
        is_meant = str(overview.name).lower() == organisation.lower()
        return is_meant and getattr(overview, "trustedKernelPublisher", False) is True

    def fetch_refs(self, repo: RepoId, wanted: str = "") -> Refs:  # noqa: ARG002 - all are listed
        """Return the repository's branches and tags."""
        with time_limit(self._timeout_s), translated_errors(self._endpoint, repo=repo):
            refs = self._api.list_repo_refs(str(repo), repo_type=REPO_TYPE)
            return Refs(
                branches={
                    _text(ref.name): ensure_commit(ref.target_commit) for ref in refs.branches
                },
                tags={_text(ref.name): ensure_commit(ref.target_commit) for ref in refs.tags},
            )

    def fetch_commit(self, repo: RepoId, revision: str) -> str:
        """Return the commit that a branch, tag, full ref or commit id names."""
        with (
            time_limit(self._timeout_s),
            translated_errors(self._endpoint, repo=repo, revision=revision),
        ):
            info = self._api.repo_info(str(repo), repo_type=REPO_TYPE, revision=revision)
            return ensure_commit(info.sha)

    def fetch_folders(self, repo: RepoId, commit: str, folder: str) -> tuple[str, ...]:
        """Return the names of the folders in ``folder``; none when there is no such folder."""
        entries = self._fetch_tree(repo, commit, folder, is_recursive=False)
        names = (entry.path for entry in entries if isinstance(entry, RepoFolder))
        return tuple(sorted(name.rpartition("/")[2] for name in names))

    def fetch_files(self, repo: RepoId, commit: str, folder: str) -> tuple[RemoteFile, ...]:
        """Return every file below ``folder``; none when there is no such folder."""
        entries = self._fetch_tree(repo, commit, folder, is_recursive=True)
        return tuple(_file(entry) for entry in entries if isinstance(entry, RepoFile))

    def _fetch_tree(
        self, repo: RepoId, commit: str, folder: str, *, is_recursive: bool
    ) -> list[RepoFile | RepoFolder]:
        limit = time_limit(self._timeout_s)
        with limit, translated_errors(self._endpoint, repo=repo, revision=commit):
            found = self._api.list_repo_tree(
                str(repo),
                path_in_repo=folder,
                recursive=is_recursive,
                revision=commit,
                repo_type=REPO_TYPE,
            )
            try:
                entries = list(islice(found, MAX_ENTRIES + 1))
            except EntryNotFoundError:
                return []
            if len(entries) > MAX_ENTRIES:
                raise HubError(f"the Hub lists more than {MAX_ENTRIES} files in {folder!r}")
            for entry in entries:
                _text(entry.path)
                if isinstance(entry, RepoFile) and not isinstance(entry.size, int):
                    raise TypeError(f"{entry.size!r:.80} is no size")
            return entries

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
        url = hf_hub_url(
            str(repo), file.path, repo_type=REPO_TYPE, revision=commit, endpoint=self._endpoint
        )
        with store.receive(file) as blob:
            if blob.is_whole:
                return
            headers = build_hf_headers(
                library_name="kernels",
                library_version=API_VERSION,
                user_agent=self._user_agent,
            )
            if blob.size_bytes:
                headers["Range"] = f"bytes={blob.size_bytes}-"
            with http_stream_backoff(
                "GET",
                url,
                headers=headers,
                timeout=HF_HUB_DOWNLOAD_TIMEOUT,
                follow_redirects=True,
                max_retries=DOWNLOAD_RETRIES,
                retry_on_exceptions=(),
                retry_on_status_codes=(408, 429),
            ) as reply:
                hf_raise_for_status(reply)
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
        case OSError(filename=str() | bytes() as path):
            return CacheUnusable(
                f"cannot write the cache: {error.strerror}",
                where=str(path),
                hint="set KERNELS_CACHE to a folder that can be written",
            )
        case _:
            return None


def _file(entry: RepoFile) -> RemoteFile:
    """Return a file of a listing. Its blob in the cache is named after what the Hub says here."""
    sha256 = entry.lfs.sha256 if entry.lfs else ""
    return RemoteFile(
        path=entry.path,
        size_bytes=entry.size,
        oid=ensure_hash(entry.blob_id),
        sha256=ensure_hash(sha256) if sha256 else "",
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no name")
    return value


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
