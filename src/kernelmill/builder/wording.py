"""Words for people, in one place so that they agree with their numbers."""

from __future__ import annotations


def count_of(number: int, noun: str) -> str:
    """Return ``1 file``, ``2 files``, ``1,024 files``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
