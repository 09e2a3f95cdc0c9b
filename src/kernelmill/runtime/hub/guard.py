"""What a Hub may say, and how long it may take: checked before anything is done with a reply.

Files and folders are named after what a reply says. ``time_limit`` and ``downloading`` hold for the
requests of one thread; ``connection`` and ``client`` obey them.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from kernelmill.runtime.revisions import COMMIT
from kernelmill.spec.errors import HubError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, MutableMapping

    class Request(Protocol):
        """The part of an HTTP request that is changed."""

        @property
        def extensions(self) -> MutableMapping[str, Any]:
            """What the client hands to its transport besides the request."""

    class Headers(Protocol):
        """A reply's headers; names in any case."""

        def get(self, name: str, /) -> str | None:
            """Return one; None when it is not there."""


MAX_REPLIES: Final = 1000
"""Most replies to one question: the pages of a listing may lead on to each other for ever."""
MAX_ANSWER_S: Final = 300.0
"""How long a whole answer may take, with signs of life."""
MAX_ANSWER_BYTES: Final = 128 * 1024 * 1024
"""Most of one reply, unpacked: a listing of a hundred thousand files takes a quarter of that."""
MAX_WAIT_S: Final = 60.0
"""How long a Hub may have its caller wait before the next try."""
ANSWER_TIMEOUT_S: Final = 10.0
"""How long a Hub may leave a question without a sign of life."""


@dataclass(slots=True)
class _Patience:
    """How long a Hub may be silent, and since when it is."""

    limit_s: float
    silent_since_s: float
    started_s: float
    replies: int = 0


_patience: ContextVar[_Patience | None] = ContextVar("kernelmill_patience", default=None)
_is_download: ContextVar[bool] = ContextVar("kernelmill_is_download", default=False)

READ_BYTES: Final = 1 << 16
FIRST_ERROR: Final = 400
MAX_WAIT_DIGITS: Final = 9
WAITS: Final = (
    ("RateLimit", re.compile(r"\bt=([0-9]+)")),
    ("Retry-After", re.compile(r"^\s*([0-9]+)\s*$")),
)
"""Headers that say for how many seconds to wait, and where in them; the first says it better."""
COMMIT_HEADER: Final = "X-Repo-Commit"
ETAG_HEADERS: Final = ("ETag", "X-Linked-ETag")
SAFE_ETAG: Final = re.compile(r'(?:W/)?"?[A-Za-z0-9_-][A-Za-z0-9._=+-]{0,199}"?')


@contextmanager
def downloading() -> Iterator[None]:
    """In the block, do not wait for as long as a Hub likes before the next try.

    It holds for this thread alone. A download itself may take any time.
    """
    token = _is_download.set(True)
    try:
        yield
    finally:
        _is_download.reset(token)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Give up in the block after so long without a sign of life.

    After it, there is no next try. It holds for this thread alone.
    """
    now_s = time.monotonic()
    token = _patience.set(_Patience(limit_s=seconds, silent_since_s=now_s, started_s=now_s))
    try:
        yield
    finally:
        _patience.reset(token)


def allowed_silence() -> float | None:
    """Return how long the next request may be without a sign of life; None for no limit here.

    Raises:
        TimeoutError: the Hub has been silent for so long already.
    """
    patience = _patience.get()
    if patience is None:
        return None
    if time.monotonic() - patience.silent_since_s > patience.limit_s:
        raise TimeoutError("timed out")
    _ensure_in_time(patience)
    return patience.limit_s


def ensure_in_time() -> None:
    """Stop waiting for an answer that does not end; it is asked whenever a part arrives.

    Raises:
        TimeoutError: there is a ``time_limit``, and the answer takes longer than any may.
    """
    if patience := _patience.get():
        _ensure_in_time(patience)


def limit_time(request: Request) -> None:
    """Give a request of huggingface_hub's client the time limit of the block around it.

    One that has a limit keeps it.

    Raises:
        TimeoutError: the Hub has been silent for so long already.
    """
    limit_s = allowed_silence()
    given = request.extensions.get("timeout") or {}
    if limit_s is not None and all(value is None for value in given.values()):
        steps = ("connect", "read", "write", "pool")
        request.extensions["timeout"] = dict.fromkeys(steps, limit_s)


def check_headers(status: int, headers: Headers) -> None:
    """Stop a Hub's reply whose commit or ETag could not be the name of a file.

    Raises:
        HubError: it could not, or it is one reply too many.
        TimeoutError: the Hub wants its caller to come back much later.
    """
    if patience := _patience.get():
        patience.silent_since_s = time.monotonic()
        patience.replies += 1
        if patience.replies > MAX_REPLIES:
            raise HubError(
                f"the Hub answers with more than {MAX_REPLIES} pages", hint="do not trust this Hub"
            )
    if patience or _is_download.get():
        ensure_short_wait(status, headers)
    commit = headers.get(COMMIT_HEADER)
    if commit is None:
        return  # not a Hub's word on a file, and nothing is kept without it
    ensure_commit(commit)
    for name in ETAG_HEADERS:
        etag = headers.get(name)
        if etag and not SAFE_ETAG.fullmatch(etag):
            raise HubError(
                f"the Hub gives a file the {name} {etag[:80]!r}", hint="do not trust this Hub"
            )


def is_limited() -> bool:
    """Tell whether there is a ``time_limit`` around."""
    return _patience.get() is not None


def read_answer(chunks: Iterable[bytes]) -> bytes:
    """Return the content of a reply that comes in pieces, but not for ever.

    Raises:
        HubError: it is too much.
        TimeoutError: it takes too long.
    """
    patience, size_bytes, content = _patience.get(), 0, []
    for chunk in chunks:
        size_bytes += len(chunk)
        if size_bytes > MAX_ANSWER_BYTES:
            raise HubError(
                f"the Hub answers with more than {MAX_ANSWER_BYTES} bytes",
                hint="do not trust this Hub",
            )
        content.append(chunk)
        if patience:
            _ensure_in_time(patience)
    return b"".join(content)


def ensure_short_wait(status: int, headers: Headers) -> None:
    """Stop a reply by which its receiver would sleep for as long as the Hub likes.

    Raises:
        TimeoutError: the Hub wants its caller to come back much later.
    """
    if status < FIRST_ERROR:
        return
    for name, pattern in WAITS:
        for text in pattern.findall(headers.get(name) or ""):
            if len(text) > MAX_WAIT_DIGITS or int(text) > MAX_WAIT_S:
                raise TimeoutError(f"it asks to wait {text:.20} s")
    date = parse_date(headers.get("Retry-After"))
    if date and date - time.time() > MAX_WAIT_S:
        raise TimeoutError("it asks to wait for a later time")


def parse_date(text: str | None) -> float | None:
    """Return an HTTP date in seconds since 1970; None for anything else."""
    try:
        return None if text is None else parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None


def _ensure_in_time(patience: _Patience) -> None:
    if time.monotonic() - patience.started_s > MAX_ANSWER_S:
        raise TimeoutError("its answer does not end")


def ensure_commit(value: object) -> str:
    """Return a commit's id as a Hub gave it; folders are named after it.

    Raises:
        HubError: it is something else.
    """
    if isinstance(value, str) and COMMIT.fullmatch(value):
        return value
    raise HubError(
        f"the Hub says that the commit is {str(value)[:80]!r}",
        hint="check that HF_ENDPOINT is a Hub",
    )


def ensure_hash(value: object) -> str:
    """Return the hash of a file's content as a Hub gave it; files are named after it.

    Raises:
        HubError: it is something else.
    """
    if isinstance(value, str) and COMMIT.fullmatch(value):
        return value
    raise HubError(
        f"the Hub says that the hash of a file is {str(value)[:80]!r}",
        hint="check that HF_ENDPOINT is a Hub",
    )
