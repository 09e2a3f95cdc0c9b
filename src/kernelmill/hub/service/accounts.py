"""The accounts that a Hub needs to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.hub.errors import Conflict, SettingError
from kernelmill.hub.store.accounts import (
    create_account,
    create_token,
    ensure_admin,
    find_account,
    trust_org,
)
from kernelmill.hub.wire.names import check_account_name

if TYPE_CHECKING:
    from kernelmill.hub.service.hub import Hub


def ensure_admin_token(hub: Hub, *, again: bool) -> str | None:
    """Create the user ``admin`` on a new Hub and return a token for it.

    Args:
        hub: the Hub.
        again: make a new token even if the Hub is not new, because the old one cannot be shown.
    """
    is_new = ensure_admin(hub.database)
    if not (is_new or again):
        return None
    return create_token(hub.database, "admin", "admin", "first token")


def ensure_trusted(hub: Hub, name: str) -> None:
    """Make an organisation a trusted kernel publisher, creating it if needed.

    Raises:
        SettingError: a user has that name.
    """
    check_account_name(name)
    try:
        create_account(hub.database, name, "org", is_trusted=True)
    except Conflict:
        account = find_account(hub.database, name)
        if account is None or account.kind != "org":
            raise SettingError(
                f"{name!r} is a user, and only an organisation can be a trusted publisher"
            ) from None
        trust_org(hub.database, name)
