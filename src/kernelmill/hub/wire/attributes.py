"""Which files are large: by ``.gitattributes``, by size, or because they are binary."""

from __future__ import annotations

import codecs
from fnmatch import fnmatchcase
from typing import Final

LARGE_BYTES: Final = 10 * 1024 * 1024
MAX_PATTERNS: Final = 500


Patterns = tuple[tuple[str, bool], ...]
"""(pattern, is it for large files) of each line, in their order."""


def is_large(path: str, size_bytes: int, sample: bytes, patterns: Patterns) -> bool:
    """Say whether a file belongs into the large file store rather than into a git pack."""
    by_name = None
    for pattern, is_lfs in patterns:
        if _matches(pattern, path):
            by_name = is_lfs  # the last line that matches counts
    if by_name is not None and size_bytes <= LARGE_BYTES:
        return by_name
    return size_bytes > LARGE_BYTES or is_binary(sample)


def is_binary(sample: bytes) -> bool:
    """Say whether a file's first bytes are no text: a zero byte, or not UTF-8."""
    if b"\0" in sample:
        return True
    try:
        # A character may be cut in two where the sample ends.
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return True
    return False


def parse_attributes(text: str) -> Patterns:
    """Return what each line of ``.gitattributes`` says of ``filter``."""
    rows: list[tuple[str, bool]] = []
    for line in text.splitlines()[:MAX_PATTERNS]:
        pattern, *attributes = line.split()[:20] or ["#"]
        if not pattern.startswith(("#", "[attr]", "!")):
            filters = [a for a in attributes if a.lstrip("-!").partition("=")[0] == "filter"]
            rows += [(pattern, attribute == "filter=lfs") for attribute in filters]
    return tuple(rows)


def _matches(pattern: str, path: str) -> bool:
    """Match as git does: by the name alone, or, with a slash, part by part; ``**`` is any parts."""
    if "/" not in pattern.rstrip("/"):
        return fnmatchcase(path.rpartition("/")[2], pattern)
    wanted = pattern.strip("/").split("/")
    states = _skip({0}, wanted)
    for part in path.split("/"):
        after = {i for i in states if i < len(wanted) and wanted[i] == "**"}
        after |= {i + 1 for i in states if i < len(wanted) and fnmatchcase(part, wanted[i])}
        states = _skip(after, wanted)
    return len(wanted) in states


def _skip(states: set[int], wanted: list[str]) -> set[int]:
    """Add the places behind each ``**``, which may stand for nothing."""
    for place, part in enumerate(wanted):
        if part == "**" and place in states:
            states.add(place + 1)
    return states
