"""Find a repository for an asker, and a commit for a revision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.hub import auth
from kernelmill.hub.errors import RevisionNotFound
from kernelmill.hub.store.names import HEADS, MAIN, TAGS, ObjectKind
from kernelmill.hub.store.objects import MissingObject
from kernelmill.hub.store.repos import find_repo, read_refs
from kernelmill.hub.wire.names import COMMIT_ID, SHORT_ID

if TYPE_CHECKING:
    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.store.objects import ObjectReader
    from kernelmill.hub.store.repos import Repo


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit, and the objects to read it with."""

    repo: Repo
    commit: str
    objects: ObjectReader

    @property
    def root(self) -> str:
        """The id of the commit's tree."""
        return str(self.objects.commit(self.commit).tree.decode())


def open_repo(hub: Hub, bearer: Bearer | None, kind: RepoKind, full_name: str) -> Repo:
    """Return a repository that the asker may read.

    Raises:
        RepoNotFound: it is missing or hidden.
    """
    return auth.check_read(bearer, find_repo(hub.database, kind, full_name), full_name)


def open_repo_for_writing(
    hub: Hub, bearer: Bearer | None, kind: RepoKind, full_name: str
) -> tuple[Repo, Bearer]:
    """Return a repository that the asker may write to, and the asker.

    Raises:
        RepoNotFound: it is missing or hidden.
        NotSignedIn: there is no token.
        Forbidden: the asker may only read.
    """
    repo = open_repo(hub, bearer, kind, full_name)
    return repo, auth.check_write(bearer, repo.namespace)


def find_revision(hub: Hub, repo: Repo, revision: str) -> Revision:
    """Return the commit that a branch, a tag, a full reference or a commit id stands for.

    Raises:
        RevisionNotFound: it stands for nothing.
    """
    commit = None
    # References first, packs second: then no reference leads to a pack that was not seen.
    names = [HEADS + revision, TAGS + revision]
    if revision.startswith("refs/"):
        names.append(revision)
    values = read_refs(hub.database, repo.id, *names)
    objects = hub.objects.reader(repo.id, repo.gen)
    value = next((values[name] for name in names if name in values), None)
    if value is not None:
        commit = objects.peel(value)
    elif SHORT_ID.fullmatch(revision):
        commit = _find_commit(objects, revision)
    if commit is None:
        raise RevisionNotFound(f"revision {revision!r} not found in {repo.full_name!r}")
    return Revision(repo=repo, commit=commit, objects=objects)


def branch_ref(repo: Repo, revision: str) -> str:
    """Return the full name of a branch that a commit is meant for.

    Raises:
        RevisionNotFound: something else was given, and commits cannot be added to it.
    """
    is_full = revision.startswith("refs/")
    if COMMIT_ID.fullmatch(revision) or (is_full and not revision.startswith(HEADS)):
        raise RevisionNotFound(f"{revision!r} is not a branch of {repo.full_name!r}")
    return revision if is_full else HEADS + revision


def main_revision(hub: Hub, repo: Repo) -> Revision:
    """Return the tip of the branch ``main``."""
    return find_revision(hub, repo, MAIN)


def _find_commit(objects: ObjectReader, revision: str) -> str | None:
    if not COMMIT_ID.fullmatch(revision):
        found = objects.commits_starting(revision)
        return found[0] if len(found) == 1 else None
    try:
        return revision if objects.kind(revision) is ObjectKind.COMMIT else None
    except MissingObject:
        return None
