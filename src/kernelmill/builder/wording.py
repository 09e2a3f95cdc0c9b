"""Words for people, in one place so that they agree with their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def count_of(number: int, noun: str) -> str:
    """Return ``1 file``, ``2 files``, ``1,024 files``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def some_of(names: Sequence[str], *, shown: int = 5) -> str:
    """Return ``a, b``, or the first few names and ``and 12 more``."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")
