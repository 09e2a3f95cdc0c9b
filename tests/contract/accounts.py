"""Accounts of a running Hub, made beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.hub.service.hub import existing_hub
from kernelmill.hub.store import accounts

if TYPE_CHECKING:
    from demo.hub import RunningHub

    from kernelmill.hub.store.names import Role


def make_user(hub: RunningHub, name: str, *orgs: str) -> None:
    """Create a user who writes to some organisations, beside the running Hub."""
    with existing_hub(hub.data) as opened:
        accounts.create_account(opened.database, name, "user")
        for org in orgs:
            accounts.add_member(opened.database, org, name, "write")


def make_token(hub: RunningHub, user: str, role: Role) -> str:
    """Create a token beside the running Hub."""
    with existing_hub(hub.data) as opened:
        return accounts.create_token(opened.database, user, role, "test")
