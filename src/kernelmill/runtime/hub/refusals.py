"""What a Hub's no means, and its silence: turned into errors with one thing to do."""

from __future__ import annotations

import errno
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import (
    AccessDenied,
    CacheUnusable,
    HubUnreachable,
    RepositoryNotFound,
    RevisionNotFound,
)
from kernelmill.spec.errors import HubError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.spec.errors import KernelError
    from kernelmill.spec.names import RepoId

REPO_TYPE: Final = "kernel"
UNREACHABLE_HINT: Final = (
    "check the network and HF_ENDPOINT, or set HF_HUB_OFFLINE=1 to use the cache"
)
TOO_MANY_REQUESTS: Final = 429

# Values of the header X-Error-Code, and a name of our own.
GATED: Final = "GatedRepo"
NO_REPOSITORY: Final = "RepoNotFound"
NO_REVISION: Final = "RevisionNotFound"
NO_ENTRY: Final = "EntryNotFound"
BAD_REQUEST: Final = "BadRequest"

log = logging.getLogger(__name__)


class Refusal(Exception):
    """A Hub's reply with the status of an error."""

    def __init__(self, status: int, kind: str, said: str) -> None:
        super().__init__(f"HTTP {status}: {said}")
        self.status = status
        self.kind = kind
        """One of the names above; else empty."""
        self.said = said.strip() or "no reason given"


@contextmanager
def translated_errors(
    endpoint: str,
    *,
    repo: RepoId | None = None,
    revision: str = "",
    unreachable_hint: str = UNREACHABLE_HINT,
) -> Iterator[None]:
    """Turn a refusal, a silence or nonsense into an error: problem, place, one thing to do.

    What happened below is in the log at level DEBUG: three tracebacks would hide ours.
    """
    where = f"{endpoint}/{REPO_TYPE}s/{repo}" if repo else endpoint
    try:
        yield
    except Refusal as error:
        log.debug("%s", where, exc_info=error)
        raise _translate(error, where, repo=repo, revision=revision) from None
    except OSError as error:
        log.debug("%s", where, exc_info=error)
        if known := _unwritable(error, where):
            raise known from None
        raise HubUnreachable(
            f"the Hub does not answer ({str(error) or type(error).__name__})",
            where=endpoint,
            hint=unreachable_hint,
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        # A reply's shape is taken for granted: this is how another one is met.
        raise HubError(
            f"the Hub's answer makes no sense ({type(error).__name__}: {error!s:.200})",
            where=where,
            hint="check that HF_ENDPOINT is a Hub, and no page of a proxy answers for it",
        ) from error


def _translate(error: Refusal, where: str, *, repo: RepoId | None, revision: str) -> KernelError:
    match error.kind:
        case "GatedRepo":
            return AccessDenied(
                f"access to '{repo}' has to be requested from its owner",
                where=where,
                hint="open the page and ask, then set HF_TOKEN",
            )
        case "RepoNotFound":
            return RepositoryNotFound(
                f"there is no kernel repository '{repo}', or you may not see it",
                where=where,
                hint="check the name; for a private repository set HF_TOKEN",
            )
        case "RevisionNotFound":
            return RevisionNotFound(
                f"'{repo}' has no revision '{revision}'",
                where=where,
                hint=f"`kernels versions {repo}` lists what there is",
            )
        case _:
            return _other(error, where)


def _other(error: Refusal, where: str) -> HubError:
    if error.status in {401, 403}:
        # A Hub that names a command gives advice of its own, and knows better.
        has_advice = "kernel-hub " in error.said
        return AccessDenied(
            f"the Hub refuses: {error.said} (HTTP {error.status})",
            where=where,
            hint="" if has_advice else "set HF_TOKEN to a token with the right to do this",
        )
    if error.kind == BAD_REQUEST:
        return HubError(
            f"the Hub rejects the request: {error.said} (HTTP {error.status})",
            where=where,
            hint="change what the Hub objects to",
        )
    # A Hub that is overloaded or broken is as good as none: what was fetched before may be used.
    is_down = error.status == TOO_MANY_REQUESTS or error.status >= 500
    return (HubUnreachable if is_down else HubError)(
        f"the Hub failed: {error.said} (HTTP {error.status})",
        where=where,
        hint="try again in a while",
    )


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
