"""Which GPU runtimes this process has loaded: two copies of one do not know of each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

MAPS: Final = Path("/proc/self/maps")
RUNTIME: Final = re.compile(
    r"(?P<path>/\S*/(?P<name>libamdhip64|libhsa-runtime64|libcudart)(?:-[0-9a-f]+)?\.so\S*)$",
    re.MULTILINE,
)


def read_runtimes(maps: Path = MAPS) -> dict[str, frozenset[str]]:
    """Return runtime -> the files it is loaded from; nothing outside Linux."""
    try:
        text = maps.read_text(errors="replace")
    except OSError:
        return {}
    found: dict[str, set[str]] = {}
    for match in RUNTIME.finditer(text):
        found.setdefault(match["name"], set()).add(match["path"])
    return {name: frozenset(paths) for name, paths in found.items()}


def second_runtimes(
    before: dict[str, frozenset[str]], after: dict[str, frozenset[str]]
) -> tuple[str, ...]:
    """Name each runtime that was loaded before and then once more, from another file."""
    return tuple(
        f"{', '.join(sorted(after[name] - before[name]))} beside {', '.join(sorted(before[name]))}"
        for name in sorted(before)
        if after.get(name, frozenset()) - before[name]
    )
