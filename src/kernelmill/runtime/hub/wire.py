"""Requests to a Hub over HTTP: huggingface_hub's client, token, headers and errors, nothing more.

NOTE: never ``HfApi``, whose import takes longer than all else that the first load does.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from huggingface_hub.constants import HF_HUB_DOWNLOAD_TIMEOUT
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    get_session,
    hf_raise_for_status,
    http_backoff,
    http_stream_backoff,
)

from kernelmill.runtime.settings import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Protocol

    from kernelmill.spec.names import RepoId

    class Stream(Protocol):
        """The part of a streamed HTTP reply that is used."""

        status_code: int

        def iter_bytes(self, chunk_size: int) -> Iterator[bytes]:
            """Return the content as it arrives."""


DOWNLOAD_RETRIES: Final = 3


class Wire:
    """The way to one Hub. Errors are huggingface_hub's own."""

    def __init__(
        self,
        endpoint: str,
        user_agent: str | Mapping[str, str] | None,
        token: str | bool | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._token = token
        self._user_agent = (
            user_agent if user_agent is None or isinstance(user_agent, str) else dict(user_agent)
        )

    def ask(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Return the answer to a question, asked once."""
        reply = get_session().get(f"{self._endpoint}/api/{path}", headers=self._headers())
        hf_raise_for_status(reply)
        return reply.json()

    def ask_list(self, path: str, parameters: Mapping[str, str]) -> Iterator[Any]:
        """Return the entries of a list, which may come in many pages."""
        headers = self._headers()
        reply = http_backoff(
            "GET", f"{self._endpoint}/api/{path}", params=dict(parameters), headers=headers
        )
        while True:
            hf_raise_for_status(reply)
            yield from _entries(reply.json())
            following = reply.links.get("next", {}).get("url")
            if not following:
                return
            reply = http_backoff("GET", following, headers=headers)

    @contextmanager
    def fetch(self, path: str, *, start: int = 0) -> Iterator[Stream]:
        """Give the content of a file, from byte ``start`` on where the Hub agrees."""
        headers = self._headers()
        if start:
            headers["Range"] = f"bytes={start}-"
        with http_stream_backoff(
            "GET",
            f"{self._endpoint}/{quote(path)}",
            headers=headers,
            timeout=HF_HUB_DOWNLOAD_TIMEOUT,
            follow_redirects=True,
            max_retries=DOWNLOAD_RETRIES,
            retry_on_exceptions=(),
            retry_on_status_codes=(408, 429),
        ) as reply:
            hf_raise_for_status(reply)
            yield reply

    def _headers(self) -> dict[str, str]:
        """Say who asks. Asked each time: a token may expire, and another be in its place."""
        headers: dict[str, str] = build_hf_headers(
            token=self._token,
            library_name="kernels",
            library_version=API_VERSION,
            user_agent=self._user_agent,
        )
        return headers


def in_repo(repo: RepoId, what: str, *parts: str) -> str:
    """Return the path of a question about a repository. Each part is one step, slashes and all."""
    return "/".join((f"kernels/{repo}", what, *(quote(part, safe="") for part in parts if part)))


def _entries(page: object) -> list[Any]:
    if not isinstance(page, list):
        raise TypeError(f"{type(page).__name__} is no list")
    return page
