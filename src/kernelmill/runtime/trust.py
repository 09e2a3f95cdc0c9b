"""Whose code may run here. Asked before anything else is fetched; the answer is no by default."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import NotTrusted
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from kernelmill.runtime.hub import Hub
    from kernelmill.spec.names import RepoId

Trust = bool | Iterable[str]
"""What callers pass as ``trust_remote_code``: everything, nothing more, or these repositories."""

HINT: Final = (
    "Set trust_remote_code=True or add the repository ID to the trust_remote_code allowlist "
    "to allow loading kernels from untrusted sources."
)


def ensure_trusted(hub: Hub, repo: RepoId, trust_remote_code: Trust) -> None:
    """Stop here unless code from ``repo`` may run. Every way in passes here, and only here.

    Raises:
        NotTrusted: neither the Hub nor the caller trusts it.
        HubUnreachable: the Hub does not answer, and never vouched for it.
        InputError: ``trust_remote_code`` is a string.
    """
    if _caller_allows(repo, trust_remote_code):
        return
    if objection := check_publisher(hub, repo):
        # Where the Hub has said no, the network is of no help.
        is_unasked = hub.is_offline and hub.fetch_trust(repo.namespace) is None
        raise NotTrusted(
            f"{objection} {HINT}",
            where=f"{hub.endpoint}/kernels/{repo}",
            hint="load it once with the network on (HF_HUB_OFFLINE unset)" if is_unasked else "",
        )


def check_publisher(hub: Hub, repo: RepoId) -> str:
    """Return why the publisher of ``repo`` is not trusted; empty when it is.

    A publisher's standing is what ``hub`` says of it, so it counts for that endpoint alone. In
    offline mode, that is the last word which the Hub is known to have said.

    Raises:
        HubUnreachable: the Hub does not answer, and never vouched for the publisher.
    """
    match hub.fetch_trust(repo.namespace):
        case True:
            return ""
        case False:
            return f"Kernel repository '{repo}' is not from a trusted publisher."
        case None if hub.is_offline:
            return (
                f"Kernel repository '{repo}' could not verify publisher trust status: the Hub is "
                f"in offline mode, and is not known to have vouched for '{repo.namespace}' before."
            )
        case None:
            return (
                f"Kernel repository '{repo}' could not verify publisher trust status: "
                f"the Hub knows no organization '{repo.namespace}'."
            )


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
    return str(repo) in {each for each in trust_remote_code if isinstance(each, str)}
