"""Whose code may run here. Asked before anything else is fetched; the answer is no by default."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import NotTrusted
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from kernelmill.runtime.hub import Hub
    from kernelmill.spec.names import RepoId

Trust = bool | Iterable[str]
"""What callers pass as ``trust_remote_code``: everything, nothing more, or these repositories."""

log = logging.getLogger(__name__)

HINT: Final = (
    "Set trust_remote_code=True or add the repository ID to the trust_remote_code allowlist "
    "to allow loading kernels from untrusted sources."
)


def check_trust(hub: Hub, repo: RepoId, trust_remote_code: Trust) -> str:
    """Return why code from ``repo`` must not run here; empty when it may.

    A publisher's standing is what ``hub`` says of it, so it counts for that endpoint alone.
    """
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
    if trust_remote_code is True:
        return ""
    if not isinstance(trust_remote_code, bool) and str(repo) in set(trust_remote_code):
        return ""
    if hub.is_offline:
        log.warning(
            "Skipping publisher trust check for '%s' because Hugging Face Hub is in offline mode.",
            repo,
        )
        return ""
    match hub.fetch_trust(repo.namespace):
        case True:
            return ""
        case False:
            return f"Kernel repository '{repo}' is not from a trusted publisher."
        case None:
            return (
                f"Kernel repository '{repo}' could not verify publisher trust status: "
                f"the Hub knows no organization '{repo.namespace}'."
            )


def ensure_trusted(hub: Hub, repo: RepoId, trust_remote_code: Trust) -> None:
    """Stop here unless code from ``repo`` may run.

    Raises:
        NotTrusted: it may not.
    """
    objection = check_trust(hub, repo, trust_remote_code)
    if objection:
        raise NotTrusted(f"{objection} {HINT}", where=f"{hub.endpoint}/kernels/{repo}")
