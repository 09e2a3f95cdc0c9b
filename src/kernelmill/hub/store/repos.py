"""Repositories: their rows, references and packs, and the one transaction that changes them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from kernelmill.hub.errors import Conflict, RefMoved, RepoNotFound
from kernelmill.hub.store.database import now_ms
from kernelmill.hub.store.schema import FILE_LINKS, PACKS, REFS, REPOS, XORB_LINKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from kernelmill.hub.store.database import Database
    from kernelmill.hub.store.names import RepoKind

COLUMNS: Final = (
    REPOS.c.id,
    REPOS.c.kind,
    REPOS.c.namespace,
    REPOS.c.name,
    REPOS.c.is_private,
    REPOS.c.gen,
    REPOS.c.created_ms,
    REPOS.c.updated_ms,
)

# Every request runs these; to build a statement costs more than to run it.
FIND_REPO: Final = select(*COLUMNS).where(
    REPOS.c.kind == bindparam("kind"), REPOS.c.key == bindparam("key")
)
ALL_REFS: Final = (
    select(REFS.c.name, REFS.c.value).where(REFS.c.repo == bindparam("repo")).order_by(REFS.c.name)
)
SOME_REFS: Final = ALL_REFS.where(REFS.c.name.in_(bindparam("names", expanding=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repo:
    """A repository as SQL knows it."""

    id: str
    kind: RepoKind
    namespace: str
    name: str
    is_private: bool
    gen: int
    created_ms: int
    updated_ms: int

    @property
    def full_name(self) -> str:
        """The name that clients use: ``namespace/name``."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRow:
    """A pack that belongs to a repository; ``data`` is None when the object store has it."""

    seq: int
    name: str
    data: bytes | None
    index: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPack:
    """A pack to publish. With ``data`` it is kept in SQL, else it must be stored already."""

    name: str
    size_bytes: int
    objects: int
    data: bytes | None
    index: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefChange:
    """Move a reference from ``old`` to ``new``; None stands for "does not exist"."""

    name: str
    old: str | None
    new: str | None


def new_id() -> str:
    """Return an identifier that was never used before."""
    return secrets.token_hex(12)


def find_repo(database: Database, kind: RepoKind, full_name: str) -> Repo | None:
    """Return the repository of that name (in any letter case)."""
    values = {"kind": kind, "key": full_name.lower()}
    with database.reading() as connection:
        row = connection.execute(FIND_REPO, values).mappings().one_or_none()
    return Repo(**row) if row is not None else None


def find_repo_by_id(database: Database, repo_id: str) -> Repo | None:
    """Return a repository by the identifier that it keeps when it is renamed."""
    query = select(*COLUMNS).where(REPOS.c.id == repo_id)
    with database.reading() as connection:
        row = connection.execute(query).mappings().one_or_none()
    return Repo(**row) if row is not None else None


def list_repos(
    database: Database,
    kind: RepoKind,
    *,
    visible: Sequence[str] | None,
    author: str = "",
    search: str = "",
    after: str = "",
    limit: int,
) -> list[Repo]:
    """Return repositories in order of their names.

    Args:
        database: where they are.
        kind: which kind of repository.
        visible: namespaces whose private repositories are included; None for all.
        author: only this namespace.
        search: only names that contain this.
        after: start behind this lower-case full name.
        limit: at most so many.
    """
    query = select(*COLUMNS).where(REPOS.c.kind == kind, REPOS.c.key > after)
    if visible is not None:
        query = query.where(or_(REPOS.c.is_private.is_(False), REPOS.c.namespace.in_(visible)))
    if author:
        query = query.where(func.lower(REPOS.c.namespace) == author.lower())
    if search:
        query = query.where(REPOS.c.key.contains(search.lower(), autoescape=True))
    with database.reading() as connection:
        rows = connection.execute(query.order_by(REPOS.c.key).limit(limit))
        return [Repo(**row) for row in rows.mappings()]


def insert_repo(
    database: Database, repo: Repo, pack: NewPack, changes: Sequence[RefChange]
) -> None:
    """Create a repository together with its first pack and references.

    Raises:
        Conflict: the name is taken.
    """
    try:
        with database.writing() as connection:
            connection.execute(
                insert(REPOS).values(
                    id=repo.id,
                    kind=repo.kind,
                    key=repo.full_name.lower(),
                    namespace=repo.namespace,
                    name=repo.name,
                    is_private=repo.is_private,
                    gen=0,
                    created_ms=repo.created_ms,
                    updated_ms=repo.updated_ms,
                )
            )
            _publish(connection, repo.id, pack, changes)
    except IntegrityError as error:
        raise Conflict(f"a {repo.kind} named {repo.full_name!r} exists already") from error


def rename_repo(database: Database, repo: Repo, namespace: str, name: str) -> None:
    """Give a repository another name; its objects stay where they are.

    Raises:
        Conflict: the name is taken.
    """
    values = {"key": f"{namespace}/{name}".lower(), "namespace": namespace, "name": name}
    try:
        with database.writing() as connection:
            connection.execute(update(REPOS).where(REPOS.c.id == repo.id).values(**values))
    except IntegrityError as error:
        raise Conflict(f"a {repo.kind} named '{namespace}/{name}' exists already") from error


def ensure_exists(database: Database, repo_id: str) -> None:
    """Stop here when a repository was deleted while a request worked with it.

    Raises:
        RepoNotFound: it was.
    """
    with database.reading() as connection:
        found = connection.execute(select(REPOS.c.id).where(REPOS.c.id == repo_id)).first()
    if found is None:
        raise RepoNotFound("the repository was deleted meanwhile")


def set_private(database: Database, repo: Repo, *, is_private: bool) -> None:
    """Hide a repository, or show it."""
    with database.writing() as connection:
        connection.execute(update(REPOS).where(REPOS.c.id == repo.id).values(is_private=is_private))


def delete_repo(database: Database, repo: Repo) -> None:
    """Forget a repository; its objects in the object store are garbage from then on."""
    with database.writing() as connection:
        for table in (PACKS, REFS, FILE_LINKS, XORB_LINKS):
            connection.execute(delete(table).where(table.c.repo == repo.id))
        connection.execute(delete(REPOS).where(REPOS.c.id == repo.id))


def read_refs(database: Database, repo_id: str, *names: str) -> dict[str, str]:
    """Return references with their values, sorted by name: those asked for, or all."""
    query, values = (SOME_REFS, {"names": names}) if names else (ALL_REFS, {})
    with database.reading() as connection:
        rows = connection.execute(query, {"repo": repo_id, **values})
        return {row.name: row.value for row in rows}


def read_packs(database: Database, repo_id: str, *, after: int) -> list[PackRow]:
    """Return the repository's packs that came after generation ``after``, oldest first."""
    query = (
        select(PACKS.c.seq, PACKS.c.name, PACKS.c.data, PACKS.c.idx)
        .where(PACKS.c.repo == repo_id, PACKS.c.seq > after)
        .order_by(PACKS.c.seq)
    )
    with database.reading() as connection:
        return [
            PackRow(seq=row.seq, name=row.name, data=row.data, index=row.idx)
            for row in connection.execute(query)
        ]


def read_pack_names(database: Database) -> set[tuple[str, str]]:
    """Return (repository id, pack name) of every pack that the object store must have."""
    query = select(PACKS.c.repo, PACKS.c.name).where(PACKS.c.data.is_(None))
    with database.reading() as connection:
        return {(row.repo, row.name) for row in connection.execute(query)}


def publish(
    database: Database, repo_id: str, pack: NewPack | None, changes: Sequence[RefChange]
) -> None:
    """Make a pack and reference changes visible together, or not at all.

    Raises:
        RefMoved: a reference was not at its ``old`` value.
        RepoNotFound: the repository is gone.
    """
    with database.writing() as connection:
        _publish(connection, repo_id, pack, changes)


def _publish(
    connection: Connection, repo_id: str, pack: NewPack | None, changes: Sequence[RefChange]
) -> None:
    # The update comes first: it locks the repository's row, so packs.seq grows in commit order.
    bump = update(REPOS).where(REPOS.c.id == repo_id)
    touched = connection.execute(bump.values(gen=REPOS.c.gen + 1, updated_ms=now_ms()))
    if touched.rowcount != 1:
        raise RepoNotFound("the repository was deleted meanwhile")
    if pack is not None:
        seq = connection.execute(select(REPOS.c.gen).where(REPOS.c.id == repo_id)).scalar_one()
        connection.execute(
            insert(PACKS).values(
                repo=repo_id,
                seq=seq,
                name=pack.name,
                size_bytes=pack.size_bytes,
                objects=pack.objects,
                data=pack.data,
                idx=pack.index,
            )
        )
    for change in changes:
        _move_ref(connection, repo_id, change)


def _move_ref(connection: Connection, repo_id: str, change: RefChange) -> None:
    if change.old is None:
        _insert_ref(connection, repo_id, change)
        return
    here = (REFS.c.repo == repo_id, REFS.c.name == change.name, REFS.c.value == change.old)
    statement = (
        delete(REFS).where(*here)
        if change.new is None
        else update(REFS).where(*here).values(value=change.new)
    )
    if connection.execute(statement).rowcount != 1:
        raise RefMoved(f"{change.name!r} changed at the same moment")


def _insert_ref(connection: Connection, repo_id: str, change: RefChange) -> None:
    # Git keeps references as files: "a" and "a/b" cannot both exist.
    parts = change.name.split("/")
    parents = ["/".join(parts[:end]) for end in range(3, len(parts) + 1)]
    below = REFS.c.name.startswith(f"{change.name}/", autoescape=True)
    clash = select(REFS.c.name).where(REFS.c.repo == repo_id, or_(REFS.c.name.in_(parents), below))
    taken = connection.execute(clash.limit(1)).scalar()
    if taken is not None:
        raise RefMoved(f"Reference already exists: {taken!r}")
    connection.execute(insert(REFS).values(repo=repo_id, name=change.name, value=change.new))
