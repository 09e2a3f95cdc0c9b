"""Whose code may run here. Asked before anything else is fetched; the answer is no by default."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import HubUnreachable, NotTrusted
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.spec.names import RepoId

Trust = bool | Iterable[str]
"""What callers pass as ``trust_remote_code``: everything, nothing more, or these repositories."""

log = logging.getLogger(__name__)

HINT: Final = (
    "Set trust_remote_code=True or add the repository ID to the trust_remote_code allowlist "
    "to allow loading kernels from untrusted sources."
)


def ensure_trusted(hub: Hub, cache: Cache, repo: RepoId, trust_remote_code: Trust) -> bool:
    """Stop here unless code from ``repo`` may run; return whether the Hub vouches for it.

    Raises:
        NotTrusted: neither the Hub nor the caller trusts it.
        HubUnreachable: the Hub does not answer, and never vouched for it.
        InputError: ``trust_remote_code`` is a string.
    """
    if _caller_allows(repo, trust_remote_code):
        return False
    if objection := check_publisher(hub, cache, repo):
        raise NotTrusted(f"{objection} {HINT}", where=f"{hub.endpoint}/kernels/{repo}")
    return not hub.is_offline


def check_publisher(hub: Hub, cache: Cache, repo: RepoId) -> str:
    """Return why the publisher of ``repo`` is not trusted; empty when it is.

    A publisher's standing is what ``hub`` says of it, so it counts for that endpoint alone. While
    the Hub does not answer, its last word stands, as ``cache`` remembers it.

    Raises:
        HubUnreachable: the Hub does not answer, and never vouched for the publisher.
    """
    if hub.is_offline:
        log.warning(
            "Skipping publisher trust check for '%s' because the Hub is in offline mode.",
            repo,
        )
        return ""
    match _fetch_trust(hub, cache, repo):
        case True:
            return ""
        case False:
            return f"Kernel repository '{repo}' is not from a trusted publisher."
        case None:
            return (
                f"Kernel repository '{repo}' could not verify publisher trust status: "
                f"the Hub knows no organization '{repo.namespace}'."
            )


def _fetch_trust(hub: Hub, cache: Cache, repo: RepoId) -> bool | None:
    try:
        answer = hub.fetch_trust(repo.namespace)
    except HubUnreachable:
        if cache.read_trust(repo):
            return True
        raise
    if not answer:
        cache.forget_trust(repo)
    return answer


def _caller_allows(repo: RepoId, trust_remote_code: Trust) -> bool:
    if isinstance(trust_remote_code, str):
        # `"org/kernel" in "org/kernel-two"` is true: a lone string is never a list of one.
        raise InputError(
            f"trust_remote_code is the string {trust_remote_code!r}",
            hint=f"pass a list of repositories: trust_remote_code=[{trust_remote_code!r}]",
        )
    if not isinstance(trust_remote_code, bool | Iterable):
        raise InputError(
            f"trust_remote_code is {trust_remote_code!r}",
            hint="pass True, False or a list of repositories",
        )
    if isinstance(trust_remote_code, bool):
        return trust_remote_code
    return str(repo) in set(trust_remote_code)
