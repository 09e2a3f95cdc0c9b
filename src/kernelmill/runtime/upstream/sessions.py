"""The session that an ``HfApi`` of huggingface_hub stands for: its Hub, with its token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kernelmill.runtime import session

if TYPE_CHECKING:
    from kernelmill.runtime.session import Session


class Api(Protocol):
    """What is read of an ``HfApi``. Its own connection is not used."""

    @property
    def endpoint(self) -> str:
        """The Hub's base URL."""

    @property
    def token(self) -> str | bool | None:
        """For the Hub; None for the one that the environment has, False for none."""


def session_of(api: Api | None, *, backend: str | None = None, is_offline: bool = False) -> Session:
    """Return a session that asks the Hub of ``api``; that of the environment for None."""
    return session.open_session(
        backend=backend,
        is_offline=is_offline,
        endpoint=None if api is None else api.endpoint,
        token=None if api is None else api.token,
    )
