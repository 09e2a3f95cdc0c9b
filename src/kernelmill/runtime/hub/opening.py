"""Which Hub the settings mean. Opening it sends nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.hub.remembered import RememberedHub

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.settings import Settings


def open_hub(
    settings: Settings,
    cache: Cache,
    user_agent: str | Mapping[str, str] | None = None,
    token: str | bool | None = None,
) -> Hub:
    """Return the Hub that ``settings`` name, or its memory when there is to be no network."""
    if settings.is_offline:
        return CachedHub(endpoint=settings.endpoint, cache=cache)

    def connect() -> Hub:
        from kernelmill.runtime.hub.remote import RemoteHub  # noqa: PLC0415 - costs 0.05 s

        agent = None if settings.is_telemetry_off else user_agent
        return RemoteHub(settings.endpoint, agent, token=token)

    return RememberedHub(
        endpoint=settings.endpoint, cache=cache, connect=connect, max_age_s=settings.max_age_s
    )
