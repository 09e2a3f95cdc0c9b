"""Create, rename and delete repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.hub import auth
from kernelmill.hub.errors import Conflict, Forbidden, RepoExists
from kernelmill.hub.service.access import open_repo_for_writing
from kernelmill.hub.service.commits import commit_content
from kernelmill.hub.store import repos
from kernelmill.hub.store.accounts import find_account
from kernelmill.hub.store.database import now_ms
from kernelmill.hub.store.names import MAIN, InMemory, ObjectKind
from kernelmill.hub.wire.names import parse_repo_id
from kernelmill.hub.wire.render import repo_path

if TYPE_CHECKING:
    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.store.repos import Repo
    from kernelmill.spec.names import RepoId


def create_repo(
    hub: Hub, bearer: Bearer | None, kind: RepoKind, namespace: str, name: str, *, is_private: bool
) -> Repo:
    """Create a repository whose branch ``main`` has one empty commit.

    Raises:
        RepoExists: the name is taken.
        Forbidden: the asker may not write to the namespace, or there is no such namespace.
    """
    owner = auth.check_write(bearer, namespace)
    parse_repo_id(f"{namespace}/{name}")
    account = find_account(hub.database, namespace)
    if account is None:
        raise Forbidden(
            f"there is no namespace {namespace!r} on this Hub: `kernel-hub org create` makes one"
        )
    now = now_ms()
    repo = repos.Repo(
        id=repos.new_id(),
        kind=kind,
        namespace=account.name,
        name=name,
        is_private=is_private,
        gen=0,
        created_ms=now,
        updated_ms=now,
    )
    existing = repos.find_repo(hub.database, kind, repo.full_name)
    if existing is not None:
        raise _exists(existing)
    with hub.objects.pack_writer(None) as pack:
        tree = pack.add(ObjectKind.TREE, InMemory(b""))
        content = commit_content(
            tree=tree, parents=[], author=owner.account.name, summary="Create the repository"
        )
        tip = pack.add(ObjectKind.COMMIT, content)
        stored = hub.objects.store_pack(repo.id, pack)
    try:
        change = repos.RefChange(name=MAIN, old=None, new=tip)
        repos.insert_repo(hub.database, repo, stored, [change])
    except Conflict as error:
        raise _exists(repo) from error
    return repo


def delete_repo(hub: Hub, bearer: Bearer | None, kind: RepoKind, full_name: str) -> None:
    """Delete a repository and its objects.

    Raises:
        RepoNotFound: it is missing or hidden.
        Forbidden: the asker may not write to it.
    """
    repo, _ = open_repo_for_writing(hub, bearer, kind, full_name)
    repos.delete_repo(hub.database, repo)
    hub.objects.delete_repo(repo.id)


def move_repo(
    hub: Hub, bearer: Bearer | None, kind: RepoKind, full_name: str, target: RepoId
) -> None:
    """Rename a repository, perhaps into another namespace.

    Raises:
        RepoNotFound: it is missing or hidden.
        Forbidden: the asker may not write to both namespaces.
        Conflict: the new name is taken.
    """
    repo, _ = open_repo_for_writing(hub, bearer, kind, full_name)
    auth.check_write(bearer, target.namespace)
    account = find_account(hub.database, target.namespace)
    if account is None:
        raise Forbidden(f"there is no namespace {target.namespace!r} on this Hub")
    repos.rename_repo(hub.database, repo, account.name, target.name)


def _exists(repo: Repo) -> RepoExists:
    return RepoExists(
        f"you already created this {repo.kind} repository: {repo.full_name!r}",
        url_path=repo_path(repo.kind, repo.full_name),
        repo_name=repo.full_name,
    )
