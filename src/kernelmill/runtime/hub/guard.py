"""What a Hub may say of itself, checked before anything here is named after it.

huggingface_hub names files after the ETag and the commit of a reply, as they come, so a Hub could
have it write outside the cache. A hook on its client stops such a reply before it is used.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from huggingface_hub import get_session

from kernelmill.runtime.revisions import COMMIT
from kernelmill.spec.errors import HubError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping

    class Request(Protocol):
        """The part of an HTTP request that is changed."""

        @property
        def extensions(self) -> MutableMapping[str, Any]:
            """What the client hands to its transport besides the request."""

    class Response(Protocol):
        """The part of an HTTP reply that is looked at."""

        @property
        def headers(self) -> Mapping[str, str]:
            """The reply's headers; names in any case."""


ANSWER_TIMEOUT_S: Final = 10.0
"""How long a Hub may leave a question without a sign of life; huggingface_hub waits for ever."""


@dataclass(slots=True)
class _Patience:
    """How long a Hub may be silent, and since when it is."""

    limit_s: float
    silent_since_s: float


_patience: ContextVar[_Patience | None] = ContextVar("kernelmill_patience", default=None)

COMMIT_HEADER: Final = "X-Repo-Commit"
ETAG_HEADERS: Final = ("ETag", "X-Linked-ETag")
SAFE_ETAG: Final = re.compile(r'(?:W/)?"?[A-Za-z0-9_-][A-Za-z0-9._=+-]{0,199}"?')


def guard_client() -> None:
    """Have huggingface_hub's client check every reply from now on, and obey ``time_limit``.

    Costs nothing when called again.

    huggingface_hub replaces its client after a fork or when a program configures one.
    """
    client = get_session()
    hooks = client.event_hooks
    if check_reply not in hooks["response"]:
        client.event_hooks = {
            "request": [*hooks["request"], limit_time],
            "response": [*hooks["response"], check_reply],
        }


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Give up in the block after so long without a sign of life.

    huggingface_hub tries some requests six times; after the limit, there is no next try.

    It holds for this thread alone: the client also serves the program's own requests.
    """
    guard_client()
    token = _patience.set(_Patience(limit_s=seconds, silent_since_s=time.monotonic()))
    try:
        yield
    finally:
        _patience.reset(token)


def limit_time(request: Request) -> None:
    """Give a request that has no time limit that of the block around it.

    Raises:
        TimeoutError: the Hub has been silent for so long already.
    """
    patience = _patience.get()
    if patience is None:
        return
    if time.monotonic() - patience.silent_since_s > patience.limit_s:
        raise TimeoutError("timed out")
    given = request.extensions.get("timeout") or {}
    if all(value is None for value in given.values()):
        steps = ("connect", "read", "write", "pool")
        request.extensions["timeout"] = dict.fromkeys(steps, patience.limit_s)


def check_reply(reply: Response) -> None:
    """Stop a Hub's reply whose commit or ETag could not be the name of a file.

    Raises:
        HubError: it could not.
    """
    if patience := _patience.get():
        patience.silent_since_s = time.monotonic()
    commit = reply.headers.get(COMMIT_HEADER)
    if commit is None:
        return  # not a Hub's word on a file, and huggingface_hub keeps nothing without it
    ensure_commit(commit)
    for name in ETAG_HEADERS:
        etag = reply.headers.get(name)
        if etag and not SAFE_ETAG.fullmatch(etag):
            raise HubError(
                f"the Hub gives a file the {name} {etag[:80]!r}", hint="do not trust this Hub"
            )


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
