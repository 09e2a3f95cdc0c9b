"""Accounts as an operator manages them, beside a Hub that may be running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kernelmill.hub.errors import Conflict, SettingError
from kernelmill.hub.service.hub import existing_hub
from kernelmill.hub.store import accounts
from kernelmill.hub.wire.names import check_account_name

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.names import Role


def create(
    data: Path,
    name: str,
    kind: Literal["user", "org"],
    *,
    is_admin: bool = False,
    is_trusted: bool = False,
) -> None:
    """Create an account of the Hub in the folder ``data``.

    Raises:
        Conflict: the name is taken.
        InvalidRequest: it cannot name an account.
    """
    check_account_name(name)
    with existing_hub(data) as hub:
        accounts.create_account(hub.database, name, kind, is_admin=is_admin, is_trusted=is_trusted)


def add_member(data: Path, org: str, user: str, role: Role) -> None:
    """Give a user a role in an organisation.

    Raises:
        AccountNotFound: there is no such user or organisation.
    """
    with existing_hub(data) as hub:
        accounts.add_member(hub.database, org, user, role)


def create_token(data: Path, user: str, role: Role, label: str) -> str:
    """Create a token and return it.

    Raises:
        AccountNotFound: there is no such user.
    """
    with existing_hub(data) as hub:
        return accounts.create_token(hub.database, user, role, label)


def ensure_admin_token(hub: Hub, *, again: bool) -> str | None:
    """Create the user ``admin`` on a new Hub and return a token for it.

    Args:
        hub: the Hub.
        again: make a new token even if the Hub is not new, because the old one cannot be shown.
    """
    is_new = accounts.ensure_admin(hub.database)
    if not (is_new or again):
        return None
    return accounts.create_token(hub.database, "admin", "admin", "first token")


def ensure_trusted(hub: Hub, name: str) -> None:
    """Make an organisation a trusted kernel publisher, creating it if needed.

    Raises:
        SettingError: a user has that name.
    """
    check_account_name(name)
    try:
        accounts.create_account(hub.database, name, "org", is_trusted=True)
    except Conflict:
        account = accounts.find_account(hub.database, name)
        if account is None or account.kind != "org":
            raise SettingError(
                f"{name!r} is a user, and only an organisation can be a trusted publisher"
            ) from None
        accounts.trust_org(hub.database, name)
