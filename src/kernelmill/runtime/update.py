"""Ask the Hub again about kernels that are here, and fetch what would now be loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelmill.runtime.cache import Cache
from kernelmill.runtime.errors import HubUnreachable
from kernelmill.runtime.hub.blobs import BlobStore
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.runtime.records import Records
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.runtime.session import open_session
from kernelmill.runtime.settings import read_settings
from kernelmill.spec.errors import InputError, KernelError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelmill.runtime.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class RefUpdate:
    """What became of a branch or tag."""

    name: str
    before: str
    """The commit whose build was here."""
    now: str
    """The commit that the Hub gives; empty when it has no such branch any more."""
    build: str
    """The build that is here now; empty when there is none."""
    problem: str = ""

    def as_json(self) -> dict[str, object]:
        """Return it as the command's ``--json`` gives it."""
        return {
            "name": self.name,
            "from": self.before,
            "to": self.now or None,
            "build": self.build or None,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelUpdate:
    """What became of a kernel."""

    repo: str
    was_trusted: bool
    is_trusted: bool
    refs: tuple[RefUpdate, ...]
    problem: str = ""

    @property
    def is_good(self) -> bool:
        """Whether everything that was asked for is here."""
        return not (self.problem or any(each.problem for each in self.refs))

    def as_json(self) -> dict[str, object]:
        """Return it as the command's ``--json`` gives it."""
        return {
            "repo": self.repo,
            "trust": {"before": self.was_trusted, "now": self.is_trusted},
            "refs": [each.as_json() for each in self.refs],
            "problem": self.problem,
        }


def update(repo_ids: Sequence[str], *, is_allowed: bool = False) -> Iterator[KernelUpdate]:
    """Update the kernels that are named, or all that are here.

    Args:
        repo_ids: their names; none for all.
        is_allowed: fetch builds of publishers whom the Hub does not vouch for, too.

    Raises:
        InputError: nothing of a named kernel is here.
        HubUnreachable: the Hub does not answer, or must not be asked.
    """
    settings = read_settings()
    cache = Cache(root=settings.cache_dir)
    here = cache.repositories()
    for repo_id in repo_ids:
        RepoId.parse(repo_id)
        if repo_id not in here:
            raise InputError(
                f"nothing of '{repo_id}' is in the cache",
                where=str(cache.root),
                hint="get_kernel fetches it",
            )
    if settings.is_offline:
        raise HubUnreachable(
            "the Hub is in offline mode", where=settings.endpoint, hint="unset HF_HUB_OFFLINE"
        )
    for repo_id in repo_ids or here:
        yield _update_kernel(RepoId.parse(repo_id), is_allowed=is_allowed)


def _update_kernel(repo: RepoId, *, is_allowed: bool) -> KernelUpdate:
    session = open_session()
    hub = session.hub
    if isinstance(hub, RememberedHub):
        hub = hub.asking_always()
        session = replace(session, hub=hub)
    vouch = Records(session.cache).read_trust(repo.namespace)
    was_trusted = vouch is not None and vouch.is_trusted is True
    before = session.cache.read_refs(repo)
    is_trusted = hub.fetch_trust(repo.namespace) is True
    try:
        refs = hub.fetch_refs(repo)
    except HubUnreachable:
        raise
    except KernelError as error:
        return KernelUpdate(
            repo=str(repo),
            was_trusted=was_trusted,
            is_trusted=is_trusted,
            refs=(),
            problem=error.problem,
        )
    known = {**refs.tags, **refs.branches}
    may_fetch = is_trusted or is_allowed
    return KernelUpdate(
        repo=str(repo),
        was_trusted=was_trusted,
        is_trusted=is_trusted,
        refs=tuple(
            _update_ref(session, repo, name, before[name], known.get(name, ""), may_fetch=may_fetch)
            for name in sorted(before)
            if name in known or not name.startswith("refs/")
        ),
        problem="" if may_fetch else "its publisher is not trusted: nothing was fetched",
    )


def _update_ref(
    session: Session, repo: RepoId, name: str, before: str, now: str, *, may_fetch: bool
) -> RefUpdate:
    build, problem = "", ""
    if now and may_fetch:
        try:
            build = _fetch_anew(session, repo, now)
        except HubUnreachable:
            raise
        except KernelError as error:
            problem = error.problem
    return RefUpdate(name=name, before=before, now=now, build=build, problem=problem)


def _fetch_anew(session: Session, repo: RepoId, commit: str) -> str:
    """Fetch the build that would be loaded, and again each file of it that was changed here."""
    selection = session.look_up(repo, revision=commit)
    variant = selection.require_variant(session.host)
    store = BlobStore(session.cache.repo_folder(repo))
    folder = f"{BUILD_FOLDER}/{variant}"
    for file in session.hub.fetch_files(repo, commit, folder):
        store.forget(file)
    session.check(selection, check_arch=False)
    session.install(selection, variant)
    return variant
