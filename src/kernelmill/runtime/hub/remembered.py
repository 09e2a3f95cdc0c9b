"""A Hub that is asked only for what is not known: the one place that says how long an answer holds.

What is said of a commit holds for ever. What is said of branches and of publishers holds for
``max_age_s``, and is asked again then. While the Hub does not answer, its last word stands, with
one warning; what it gave is loaded as it is.
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack, contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, TypeVar

from kernelmill.runtime.errors import CacheUnusable, HubUnreachable, NotCached
from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.hub.expiry import note_expiry
from kernelmill.runtime.records import Records, is_recordable
from kernelmill.runtime.revisions import DEFAULT_BRANCH, versions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub, Refs, RemoteFile
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

TURN_TIMEOUT_S: Final = 12.0
"""How long to leave a question to another process: a little more than a Hub has for its answer."""


class RememberedHub:
    """A Hub whose answers are kept in the cache."""

    is_offline: Final = False

    def __init__(
        self,
        *,
        endpoint: str,
        cache: Cache,
        connect: Callable[[], Hub],
        max_age_s: float,
        now: Callable[[], float] = time.time,
        is_forgiving: bool = True,
    ) -> None:
        """Connect to nothing yet: ``connect`` is called for the first question, if there is one.

        ``is_forgiving`` says whether the last word stands while the Hub does not answer.
        """
        self.endpoint = endpoint
        self._cache = cache
        self._connect = connect
        self._max_age_s = max_age_s
        self._now = now
        self._is_forgiving = is_forgiving
        self._records = Records(cache, now)
        self._memory = CachedHub(endpoint=endpoint, cache=cache)
        self._remote: Hub | None = None
        self._silence: HubUnreachable | None = None
        self._has_warned = False

    def asking_always(self) -> RememberedHub:
        """Return the same Hub without its memory: asked each time, and its silence is an error."""
        return RememberedHub(
            endpoint=self.endpoint,
            cache=self._cache,
            connect=self._connect,
            max_age_s=0.0,
            now=self._now,
            is_forgiving=False,
        )

    def fetch_trust(self, organisation: str) -> bool | None:
        """Tell whether the Hub vouches for ``organisation``. A no is asked again each time."""
        vouch = self._records.read_trust(organisation)
        if vouch and vouch.is_trusted and self._is_fresh(vouch.asked_at):
            return True
        try:
            answer = self._ask(lambda hub: hub.fetch_trust(organisation))
        except HubUnreachable:
            if not (vouch and vouch.is_trusted and self._is_forgiving):
                raise
            self._warn()
            return True
        self._records.write_trust(organisation, answer)
        self._note_time(self._now())
        return answer

    def fetch_refs(self, repo: RepoId, wanted: str = "") -> Refs:
        """Return the branches and tags; fresh ones where ``wanted`` is not known."""
        if known := self._fresh_refs(repo, wanted):
            return known
        with self._turn(repo):
            if known := self._fresh_refs(repo, wanted):
                return known
            try:
                refs = self._ask(lambda hub: hub.fetch_refs(repo))
            except HubUnreachable:
                refs = self._memory.fetch_refs(repo)
                is_known = wanted in refs.branches if wanted else bool(refs.branches)
                if not (is_known and self._is_forgiving):
                    raise
                self._warn()
                return refs
            self._records.write_refs(repo, refs)
            self._note_time(self._now())
            return refs

    def _fresh_refs(self, repo: RepoId, wanted: str) -> Refs | None:
        listing = self._records.read_listing(repo)
        refs = listing.refs
        name = wanted or _newest(refs)
        commit = refs.branches.get(name)
        if not commit or not self._leads_on(repo, name if wanted else "", commit):
            return None
        return refs if self._is_fresh(listing.asked_at) else None

    def fetch_commit(self, repo: RepoId, revision: str) -> str:
        """Return the commit that ``revision`` names."""
        if known := self._fresh_commit(repo, revision):
            return known
        with self._turn(repo):
            if known := self._fresh_commit(repo, revision):
                return known
            try:
                commit = self._ask(lambda hub: hub.fetch_commit(repo, revision))
            except HubUnreachable as error:
                if not self._is_forgiving:
                    raise
                try:
                    commit = self._memory.fetch_commit(repo, revision)
                except NotCached:
                    raise error from None
                self._warn()
                return commit
            self._records.write_revision(repo, revision, commit)
            self._note_time(self._now())
            return commit

    def _fresh_commit(self, repo: RepoId, revision: str) -> str:
        commit, asked_at = self._records.read_listing(repo).find(revision)
        is_usable = commit and self._leads_on(repo, revision, commit)
        return commit if is_usable and self._is_fresh(asked_at) else ""

    def _leads_on(self, repo: RepoId, name: str, commit: str) -> bool:
        """Tell whether ``commit`` is the one to go on with, should the network be gone.

        Where a branch has moved and its new build is not here yet, the Hub is needed anyway. It is
        asked for the branch at once: while it does not answer, the build that is here is used.
        """
        known = self._cache.read_ref(repo, name) if name else ""
        others = {known} if name else set(self._cache.read_refs(repo).values())
        return commit in others or not any(others)

    def fetch_folders(self, repo: RepoId, commit: str, folder: str) -> tuple[str, ...]:
        """Return the names of the folders in ``folder``."""
        if not is_recordable(PurePosixPath(folder)):
            return self._ask(lambda hub: hub.fetch_folders(repo, commit, folder))
        known = self._records.read_folders(repo, commit, folder)
        if known is not None:
            return known
        with self._turn(repo):
            known = self._records.read_folders(repo, commit, folder)
            if known is not None:
                return known
            try:
                names = self._ask(lambda hub: hub.fetch_folders(repo, commit, folder))
            except HubUnreachable as error:
                try:
                    names = self._memory.fetch_folders(repo, commit, folder)
                except NotCached:
                    raise error from None
                self._warn()
                return names
            self._records.write_folders(repo, commit, folder, names)
            return names

    def fetch_files(self, repo: RepoId, commit: str, folder: str) -> tuple[RemoteFile, ...]:
        """Return every file below ``folder``. Those that happen to be here are no answer."""
        if not is_recordable(PurePosixPath(folder)):
            return self._ask(lambda hub: hub.fetch_files(repo, commit, folder))
        known = self._records.read_files(repo, commit, folder)
        if known is not None:
            return known
        with self._turn(repo):
            known = self._records.read_files(repo, commit, folder)
            if known is not None:
                return known
            files = self._ask(lambda hub: hub.fetch_files(repo, commit, folder))
            self._records.write_files(repo, commit, folder, files)
            return files

    def download(
        self, repo: RepoId, commit: str, files: Iterable[RemoteFile], cache_dir: Path
    ) -> None:
        """Put files into ``cache_dir``; those already there stay."""
        self._ask(lambda hub: hub.download(repo, commit, files, cache_dir))

    def _ask(self, question: Callable[[Hub], Answer]) -> Answer:
        """Ask the Hub, unless it has been silent already."""
        if self._silence:
            raise self._silence
        self._remote = self._remote or self._connect()
        try:
            return question(self._remote)
        except HubUnreachable as error:
            self._silence = error
            note_expiry(0.0)  # the next call has to try again
            raise

    @contextmanager
    def _turn(self, repo: RepoId) -> Iterator[None]:
        """Ask alone: of many processes that start together, one asks and the others read."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self._cache.lock(repo, "answers", TURN_TIMEOUT_S))
            except (TimeoutError, CacheUnusable) as error:
                log.debug("asking without a turn: %s", error)
            yield

    def _warn(self) -> None:
        if self._silence and not self._has_warned:
            self._has_warned = True
            log.warning("%s; using what was fetched from it before", self._silence.problem)

    def _is_fresh(self, asked_at: float) -> bool:
        # A clock that was set back makes an answer from the future: it counts as old.
        is_fresh = 0 <= self._now() - asked_at < self._max_age_s
        if is_fresh:
            self._note_time(asked_at)
        return is_fresh

    def _note_time(self, asked_at: float) -> None:
        note_expiry(asked_at + self._max_age_s)


def _newest(refs: Refs) -> str:
    """Return the branch that a call without a version takes."""
    return next((f"v{number}" for number in versions_of(refs)), DEFAULT_BRANCH)
