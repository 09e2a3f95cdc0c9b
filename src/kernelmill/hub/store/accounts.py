"""Users, organisations, memberships and tokens."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal

from sqlalchemy import bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError

from kernelmill.hub.errors import AccountNotFound, Conflict
from kernelmill.hub.store.database import now_ms
from kernelmill.hub.store.schema import ACCOUNTS, MEMBERS, REPOS, TOKENS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Row

    from kernelmill.hub.store.database import Database
    from kernelmill.hub.store.names import RepoKind, Role

# Every request with a token runs these; to build a statement costs more than to run it.
FIND_TOKEN: Final = (
    select(TOKENS.c.role, TOKENS.c.label, TOKENS.c.created_ms.label("issued_ms"), ACCOUNTS)
    .join(ACCOUNTS, ACCOUNTS.c.id == TOKENS.c.user)
    .where(TOKENS.c.digest == bindparam("digest"))
)
MEMBERSHIPS: Final = (
    select(ACCOUNTS.c.name, MEMBERS.c.role)
    .join(MEMBERS, MEMBERS.c.org == ACCOUNTS.c.id)
    .where(MEMBERS.c.user == bindparam("member"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user or an organisation."""

    id: int
    name: str
    kind: Literal["user", "org"]
    is_admin: bool
    is_trusted: bool
    created_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """Who a token speaks for, and what the token may do."""

    account: Account
    role: Role
    digest: str
    """What is kept of the token: nobody can find the token from it."""
    label: str
    created_ms: int
    memberships: Mapping[str, Role]
    """Organisation's name -> the user's role in it."""


def find_account(database: Database, name: str) -> Account | None:
    """Return the account of that name (in any letter case)."""
    query = select(ACCOUNTS).where(ACCOUNTS.c.key == name.lower())
    with database.reading() as connection:
        row = connection.execute(query).one_or_none()
    return _account(row) if row is not None else None


def create_account(
    database: Database,
    name: str,
    kind: Literal["user", "org"],
    *,
    is_admin: bool = False,
    is_trusted: bool = False,
) -> None:
    """Create a user or an organisation.

    Raises:
        Conflict: the name is taken.
    """
    try:
        with database.writing() as connection:
            connection.execute(
                insert(ACCOUNTS).values(
                    key=name.lower(),
                    name=name,
                    kind=kind,
                    is_admin=is_admin,
                    is_trusted=is_trusted,
                    created_ms=now_ms(),
                )
            )
    except IntegrityError as error:
        raise Conflict(f"the name {name!r} is taken") from error


def trust_org(database: Database, name: str) -> None:
    """Make an organisation a trusted kernel publisher."""
    with database.writing() as connection:
        connection.execute(
            ACCOUNTS.update()
            .where(ACCOUNTS.c.key == name.lower(), ACCOUNTS.c.kind == "org")
            .values(is_trusted=True)
        )


def add_member(database: Database, org: str, user: str, role: Role) -> None:
    """Give a user a role in an organisation, in place of any earlier one.

    Raises:
        AccountNotFound: there is no such organisation or user.
    """
    ids = {}
    for name, kind in ((org, "org"), (user, "user")):
        account = find_account(database, name)
        if account is None or account.kind != kind:
            raise AccountNotFound(f"no {kind} is named {name!r}")
        ids[kind] = account.id
    with database.writing() as connection:
        connection.execute(
            MEMBERS.delete().where(MEMBERS.c.org == ids["org"], MEMBERS.c.user == ids["user"])
        )
        connection.execute(insert(MEMBERS).values(**ids, role=role))


def create_token(database: Database, user: str, role: Role, label: str) -> str:
    """Create a token and return it; only its hash is kept.

    Raises:
        AccountNotFound: there is no such user.
    """
    account = find_account(database, user)
    if account is None or account.kind != "user":
        raise AccountNotFound(f"no user is named {user!r}")
    token = f"hf_{secrets.token_hex(32)}"
    with database.writing() as connection:
        connection.execute(
            insert(TOKENS).values(
                digest=_digest(token),
                user=account.id,
                role=role,
                label=label,
                created_ms=now_ms(),
            )
        )
    return token


def find_bearer(database: Database, token: str) -> Bearer | None:
    """Return who a token speaks for."""
    return find_bearer_by_digest(database, _digest(token))


def find_bearer_by_digest(database: Database, digest: str) -> Bearer | None:
    """Return who the token with this digest speaks for, as things are now."""
    with database.reading() as connection:
        row = connection.execute(FIND_TOKEN, {"digest": digest}).one_or_none()
        if row is None:
            return None
        orgs = connection.execute(MEMBERSHIPS, {"member": row.id}).all()
    return Bearer(
        account=_account(row),
        digest=digest,
        role=row.role,
        label=row.label,
        created_ms=row.issued_ms,
        memberships={org.name: org.role for org in orgs},
    )


def count_members(database: Database, org_id: int) -> int:
    """Return how many users belong to an organisation."""
    query = select(func.count()).where(MEMBERS.c.org == org_id)
    with database.reading() as connection:
        return connection.execute(query).scalar_one()


def count_public_repos(database: Database, namespace: str) -> dict[RepoKind, int]:
    """Return how many public repositories of each kind a namespace has."""
    query = (
        select(REPOS.c.kind, func.count().label("number"))
        .where(REPOS.c.namespace == namespace, REPOS.c.is_private.is_(False))
        .group_by(REPOS.c.kind)
    )
    with database.reading() as connection:
        return {row.kind: row.number for row in connection.execute(query)}


def ensure_admin(database: Database) -> bool:
    """Create the user ``admin`` on a Hub that has no accounts; return whether that was so."""
    with database.writing() as connection:
        if connection.execute(select(func.count()).select_from(ACCOUNTS)).scalar_one():
            return False
        connection.execute(
            insert(ACCOUNTS).values(
                key="admin",
                name="admin",
                kind="user",
                is_admin=True,
                is_trusted=False,
                created_ms=now_ms(),
            )
        )
    return True


def _account(row: Row[tuple[object, ...]]) -> Account:
    return Account(**{field.name: getattr(row, field.name) for field in fields(Account)})


def _digest(token: str) -> str:
    # 256 random bits need no salt and no slow hash.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
