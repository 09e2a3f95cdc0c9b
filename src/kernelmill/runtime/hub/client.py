"""huggingface_hub's own client, for uploads: made to obey ``guard``, and its errors made ours."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from huggingface_hub import get_session
from huggingface_hub.errors import (
    BadRequestError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from kernelmill.runtime.hub import guard
from kernelmill.runtime.hub.refusals import (
    BAD_REQUEST,
    GATED,
    NO_REPOSITORY,
    NO_REVISION,
    Refusal,
    translated_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    class Response(Protocol):
        """The part of an HTTP reply that is looked at."""

        @property
        def headers(self) -> Mapping[str, str]:
            """The reply's headers; names in any case."""

        @property
        def status_code(self) -> int:
            """The HTTP status."""

        def iter_bytes(self, chunk_size: int) -> Iterator[bytes]:
            """Read the body, unpacked."""

        def close(self) -> None:
            """Read no more."""


# httpx2.HTTPError, the root of what a failing connection raises, without naming a dependency that
# is huggingface_hub's own choice.
_TransportError: type[BaseException] = HfHubHTTPError.__bases__[0]
KINDS: Final[tuple[tuple[type[HfHubHTTPError], str], ...]] = (
    (GatedRepoError, GATED),
    (RepositoryNotFoundError, NO_REPOSITORY),
    (RevisionNotFoundError, NO_REVISION),
    (BadRequestError, BAD_REQUEST),
)

log = logging.getLogger(__name__)


def guard_client() -> None:
    """Have huggingface_hub's client check every reply from now on, and obey ``time_limit``.

    Costs nothing when called again. huggingface_hub replaces its client after a fork or when a
    program configures one.
    """
    client = get_session()
    hooks = client.event_hooks
    if check_reply not in hooks["response"]:
        client.event_hooks = {
            "request": [*hooks["request"], guard.limit_time],
            "response": [*hooks["response"], check_reply],
        }


def check_reply(reply: Response) -> None:
    """Stop a Hub's reply that ``guard`` does not let pass, and read one that has to end in time."""
    guard.check_headers(reply.status_code, reply.headers)
    if not guard.is_limited():
        return
    try:
        content = guard.read_answer(reply.iter_bytes(guard.READ_BYTES))
    except BaseException:
        reply.close()
        raise
    # Where the client keeps what was read; there is no other way to give it back.
    vars(reply)["_content"] = content


@contextmanager
def translated_client_errors(endpoint: str, **known: Any) -> Iterator[None]:  # noqa: ANN401 - handed on
    """Turn huggingface_hub's exceptions into ours, as ``translated_errors`` does the others."""
    with translated_errors(endpoint, **known):
        try:
            yield
        except HfHubHTTPError as error:
            log.debug("%s", endpoint, exc_info=error)
            raise _refusal(error) from None
        except (_TransportError, LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
            log.debug("%s", endpoint, exc_info=error)
            raise ConnectionError(_root_cause(error)) from None


def _refusal(error: HfHubHTTPError) -> Refusal:
    kind = next((name for each, name in KINDS if isinstance(error, each)), "")
    return Refusal(error.response.status_code, kind, error.server_message or "")


def _root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__
