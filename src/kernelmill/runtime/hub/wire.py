"""Requests to a Hub: who asks, how often it is tried, and what a refusal says."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlencode

from kernelmill.runtime.hub import connection
from kernelmill.runtime.hub.guard import FIRST_ERROR, READ_BYTES, read_answer
from kernelmill.runtime.hub.identity import headers_of
from kernelmill.runtime.hub.refusals import BAD_REQUEST, NO_REPOSITORY, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kernelmill.runtime.hub.connection import Reply
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

DOWNLOAD_TIMEOUT_S: Final = 10.0
"""How long a download may be without a sign of life; ``HF_HUB_DOWNLOAD_TIMEOUT`` sets another."""
MAX_SAID_CHARS: Final = 2000
INVALID_TOKEN: Final = "Invalid credentials in Authorization header"
LONGEST_PAUSE_S: Final = 8.0
NEXT_PAGE: Final = re.compile(r'<([^<>]*)>[^<>]*;\s*rel="?next"?')
SECONDS: Final = re.compile(r"\bt=([0-9]{1,9})|^\s*([0-9]{1,9})\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often something is tried again, and after what."""

    retries: int
    statuses: frozenset[int]
    is_for_silence: bool
    """Whether it is tried again when there was no answer."""


NEVER: Final = Patience(retries=0, statuses=frozenset(), is_for_silence=False)
LISTING: Final = Patience(
    retries=5, statuses=frozenset({408, 429, 500, 502, 503, 504}), is_for_silence=True
)
DOWNLOAD: Final = Patience(retries=3, statuses=frozenset({408, 429}), is_for_silence=False)


class Wire:
    """The way to one Hub."""

    def __init__(
        self,
        endpoint: str,
        user_agent: str | Mapping[str, str] | None,
        token: str | bool | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._token = token
        self._user_agent = user_agent

    def ask(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Return the answer to a question, asked once.

        Raises:
            Refusal: it is no.
            OSError: there is none.
            ValueError: it is no JSON.
        """
        return self._get(f"{self._endpoint}/api/{path}", NEVER, _json)

    def ask_list(self, path: str, parameters: Mapping[str, str]) -> Iterator[Any]:
        """Return the entries of a list, which may come in many pages."""
        url = f"{self._endpoint}/api/{path}?{urlencode(parameters)}"
        while url:
            page, links = self._get(url, LISTING, lambda it: (_json(it), it.headers.get("Link")))
            if not isinstance(page, list):
                raise TypeError(f"{type(page).__name__} is no list")
            yield from page
            found = NEXT_PAGE.search(links or "")
            url = found[1] if found else ""

    def fetch(self, path: str, receive: Callable[[Reply], None], *, start: int = 0) -> None:
        """Have the content of a file received, from byte ``start`` on where the Hub agrees."""
        # A file is stored as it comes, and its parts are counted in bytes: so, not packed.
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        self._get(f"{self._endpoint}/{quote(path)}", DOWNLOAD, receive, headers)

    def _get(
        self,
        url: str,
        patience: Patience,
        read: Callable[[Reply], Answer],
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return what ``read`` makes of a reply that is no error, after some tries."""
        for attempt in range(patience.retries + 1):
            is_last = attempt == patience.retries
            try:
                with connection.get(url, self._headers(url, headers), timeout_s=_timeout_s()) as it:
                    if it.status < FIRST_ERROR:
                        return read(it)
                    refusal = _refusal(url, it)
                    if is_last or it.status not in patience.statuses:
                        raise refusal
                    log.warning("%s: %s; trying again", url, refusal)
                    pause_s = _asked_wait_s(it)
            except ConnectionError as error:
                if is_last or not patience.is_for_silence:
                    raise
                log.warning("%s: %s; trying again", url, error)
                pause_s = None
            time.sleep(min(2.0**attempt, LONGEST_PAUSE_S) if pause_s is None else pause_s + 1)
        raise AssertionError("the last try returns or raises")

    def _headers(self, url: str, more: Mapping[str, str] | None) -> dict[str, str]:
        """Say who asks. Asked each time: a token may expire, and another be in its place."""
        token = self._token if connection.is_same_origin(url, self._endpoint) else False
        default = {"Accept-Encoding": "gzip, deflate"}
        return {**headers_of(self._user_agent, token), **(more or default)}


def in_repo(repo: RepoId, what: str, *parts: str) -> str:
    """Return the path of a question about a repository. Each part is one step, slashes and all."""
    return "/".join((f"kernels/{repo}", what, *(quote(part, safe="") for part in parts if part)))


def _json(reply: Reply) -> Any:  # noqa: ANN401 - JSON
    return json.loads(read_answer(reply.stream(READ_BYTES)))


def _refusal(url: str, reply: Reply) -> Refusal:
    """Return what an error's reply says. Its text may be in the body, in a header, or nowhere."""
    said = str(reply.headers.get("X-Error-Message") or "")
    kind = str(reply.headers.get("X-Error-Code") or "")
    if not kind and reply.status == 401 and said != INVALID_TOKEN and "/resolve/" in url:
        kind = NO_REPOSITORY  # a Hub says so of repositories that it hides
    elif not kind and reply.status == 400:
        kind = BAD_REQUEST
    content = read_answer(reply.stream(READ_BYTES))
    return Refusal(reply.status, kind, (_said_in(content, reply) or said)[:MAX_SAID_CHARS])


def _said_in(content: bytes, reply: Reply) -> str:
    text = content.decode(errors="replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "" if "html" in str(reply.headers.get("Content-Type") or "").lower() else text
    match found:
        case {"error": str() as error}:
            return error
        case {"error": [*errors]}:
            return "\n".join(map(str, errors))
    return ""


def _asked_wait_s(reply: Reply) -> float | None:
    """Return for how long a Hub wants its caller to wait; ``guard`` has looked at it."""
    for name in ("RateLimit", "Retry-After"):
        if found := SECONDS.search(str(reply.headers.get(name) or "")):
            return float(found[1] or found[2])
    return None


def _timeout_s() -> float:
    try:
        return float(os.environ.get("HF_HUB_DOWNLOAD_TIMEOUT") or DOWNLOAD_TIMEOUT_S)
    except ValueError:
        return DOWNLOAD_TIMEOUT_S
