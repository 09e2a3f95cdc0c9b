"""How long the answers behind a call hold, told to whoever wants to keep its result."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_noted: ContextVar[list[float] | None] = ContextVar("kernelmill_expiry", default=None)


def note_expiry(until: float) -> None:
    """Say that an answer holds until then (seconds since 1970), and no longer."""
    noted = _noted.get()
    if noted is not None:
        noted.append(until)


@contextmanager
def watch_expiry() -> Iterator[list[float]]:
    """Collect what is noted in the block; nothing where no Hub was asked."""
    noted: list[float] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)
