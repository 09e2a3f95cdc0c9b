"""Which commit of a repository is meant: a version, a revision, or the newest there is."""

from __future__ import annotations

import re
import reprlib
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import VersionNotFound
from kernelmill.spec.errors import InputError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from kernelmill.runtime.hub import Hub, Refs
    from kernelmill.spec.names import RepoId

COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
VERSION_BRANCH: Final = re.compile(r"v(0|[1-9][0-9]{0,8})")
MAX_VERSION: Final = 10**9 - 1
DEFAULT_BRANCH: Final = "main"
ONCE_ONLINE: Final = "load it once with the network on (HF_HUB_OFFLINE unset)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A commit, and how it came to be the one."""

    name: str
    """The branch, tag or commit that was asked for or found."""
    commit: str
    version: int | None = None
    advice: str = ""
    """What the caller should change in the call; empty when nothing."""
    news: str = ""
    """What the caller may want to know; empty when nothing."""


def choose_revision(
    hub: Hub, repo: RepoId, *, version: int | None = None, revision: str | None = None
) -> Choice:
    """Return the commit that ``version`` or ``revision`` names, or else the newest.

    Raises:
        InputError: both are given.
        VersionNotFound: the repository has no such version.
        HubError: the Hub says no.
    """
    if version is not None and revision is not None:
        raise InputError(
            "Only one of `revision` or `version` must be specified.",
            where=str(repo),
            hint="leave out `revision`: a version is the branch of that number",
        )
    _check_version(version, repo)
    if revision is not None:
        _check_revision(revision, repo)
        commit = revision if COMMIT.fullmatch(revision) else hub.fetch_commit(repo, revision)
        return Choice(name=revision, commit=commit)
    refs = hub.fetch_refs(repo, "" if version is None else f"v{version}")
    if version is not None:
        return choose_version(refs, repo, version, is_offline=hub.is_offline)
    return choose_newest(refs, repo, is_offline=hub.is_offline)


def _check_version(version: object, repo: RepoId) -> None:
    if version is None:
        return
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= MAX_VERSION:
        raise InputError(
            f"a version is a whole number from 0 to {MAX_VERSION}",
            where=str(repo),
            hint="give one: version=1",
        )


def is_revision(name: object) -> bool:
    """Tell whether ``name`` can be that of a branch or tag, and of the cache's note about it.

    A Hub may say anything: files are named after what passes here.
    """
    if not isinstance(name, str) or not name.isprintable() or "\\" in name:
        return False
    return {"", ".", ".."}.isdisjoint(name.split("/"))


def _check_revision(revision: object, repo: RepoId) -> None:
    """Refuse what no Hub could have, and what a cache could not name a file after."""
    if not is_revision(revision):
        raise InputError(
            f"{reprlib.repr(revision)} is not a revision",
            where=str(repo),
            hint="give a branch, a tag or a commit",
        )


def versions_of(refs: Refs) -> dict[int, str]:
    """Return the versions a repository has, newest first: number -> commit."""
    found = {
        int(match[1]): commit
        for name, commit in refs.branches.items()
        if (match := VERSION_BRANCH.fullmatch(name))
    }
    return dict(sorted(found.items(), reverse=True))


def choose_version(refs: Refs, repo: RepoId, version: int, *, is_offline: bool = False) -> Choice:
    """Return version ``version``, and never another in its place."""
    versions = versions_of(refs)
    if version not in versions:
        raise VersionNotFound(
            _missing_version(repo, version, versions, is_offline=is_offline),
            where=str(repo),
            hint=_missing_version_hint(repo, is_offline=is_offline),
        )
    newest = next(iter(versions))
    news = (
        f"You are using version {version} of '{repo}', but version {newest} is available."
        if newest > version and not is_offline
        else ""
    )
    return Choice(name=f"v{version}", commit=versions[version], version=version, news=news)


def _missing_version(
    repo: RepoId, version: int, versions: dict[int, str], *, is_offline: bool
) -> str:
    if is_offline:
        return (
            f"Version {version} of '{repo}' is not available in the local cache and "
            "the Hub is in offline mode."
        )
    available = ", ".join(map(str, sorted(versions))) or "none"
    return f"Version {version} not found, available versions: {available}"


def _missing_version_hint(repo: RepoId, *, is_offline: bool) -> str:
    if is_offline:
        return ONCE_ONLINE
    return f"`kernels versions {repo}` shows what each version offers"


def choose_newest(refs: Refs, repo: RepoId, *, is_offline: bool = False) -> Choice:
    """Return the newest version, or else the main branch, with the advice to pin it."""
    for version, commit in versions_of(refs).items():
        advice = (
            f"'{repo}' was asked for without a version, so another day may load other code: "
            f'pin it with get_kernel("{repo}", version={version})'
        )
        return Choice(name=f"v{version}", commit=commit, version=version, advice=advice)
    if DEFAULT_BRANCH in refs.branches:
        commit = refs.branches[DEFAULT_BRANCH]
        advice = (
            f"'{repo}' was asked for without a version and has none, so another day may load other "
            f'code: pin it with get_kernel("{repo}", revision="{commit}")'
        )
        return Choice(name=DEFAULT_BRANCH, commit=commit, advice=advice)
    if is_offline:
        raise VersionNotFound(
            f"No version of '{repo}' is in the local cache and the Hub is in offline mode.",
            where=str(repo),
            hint=ONCE_ONLINE,
        )
    raise VersionNotFound(
        f"'{repo}' has neither a version nor a main branch",
        where=str(repo),
        hint="name a revision",
    )
