"""Who asks, and what they may do. Everything is refused unless a rule here allows it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from kernelmill.hub.errors import BadCredentials, Forbidden, HiddenRepo, NotSignedIn, RepoNotFound
from kernelmill.hub.store.accounts import find_bearer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.database import Database
    from kernelmill.hub.store.repos import Repo


def identify(database: Database, header: str | None) -> Bearer | None:
    """Return the asker behind an ``Authorization`` header; None when there is no header.

    Raises:
        BadCredentials: the header holds no token of this Hub.
    """
    if header is None:
        return None
    token = _token_in(header)
    bearer = find_bearer(database, token) if token else None
    if bearer is None:
        raise _bad_credentials()
    return bearer


def _bad_credentials() -> BadCredentials:
    # The client looks for exactly this text, to tell a bad token from a hidden repository.
    return BadCredentials("Invalid credentials in Authorization header")


def _token_in(header: str) -> str:
    """Return the token of a header: a bearer's, or git's user and password."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        user, _, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except ValueError:
        return ""
    return password or user


def is_admin(bearer: Bearer | None) -> bool:
    """Say whether the asker rules this Hub: an administrator, with a token of that role."""
    return bearer is not None and bearer.account.is_admin and bearer.role == "admin"


def namespaces(bearer: Bearer | None) -> Iterable[str]:
    """Return the namespaces whose private repositories the asker may see."""
    return [] if bearer is None else [bearer.account.name, *bearer.memberships]


def can_read(bearer: Bearer | None, repo: Repo) -> bool:
    """Say whether the asker may know of a repository."""
    return not repo.is_private or is_admin(bearer) or repo.namespace in namespaces(bearer)


def can_read_private(bearer: Bearer | None, namespace: str) -> bool:
    """Say whether the asker may see what is private in a namespace."""
    return is_admin(bearer) or namespace.lower() in {it.lower() for it in namespaces(bearer)}


def check_read(bearer: Bearer | None, repo: Repo | None, name: str) -> Repo:
    """Return ``repo`` if the asker may know of it.

    Raises:
        RepoNotFound: it is missing or hidden; the answer is the same for both.
    """
    if repo is not None and can_read(bearer, repo):
        return repo
    if bearer is None:
        raise HiddenRepo(f"repository {name!r} not found, or a token is needed to see it")
    raise RepoNotFound(f"repository {name!r} not found")


def check_write(bearer: Bearer | None, namespace: str) -> Bearer:
    """Return the asker if they may write to the repositories of a namespace.

    Raises:
        NotSignedIn: there is no token.
        Forbidden: the token only reads, or its owner does not write there.
    """
    if bearer is None:
        raise NotSignedIn("a token is needed to write: log in, or pass token=...")
    if bearer.role == "read":
        raise Forbidden(f"the token {bearer.label!r} may only read")
    owns = namespace.lower() == bearer.account.name.lower()
    roles = {org.lower(): role for org, role in bearer.memberships.items()}
    if is_admin(bearer) or owns or roles.get(namespace.lower()) in {"write", "admin"}:
        return bearer
    raise Forbidden(f"{bearer.account.name!r} may not write to the namespace {namespace!r}")
