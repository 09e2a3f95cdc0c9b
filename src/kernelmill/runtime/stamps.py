"""Which files of a cached build were hashed before, and what marks they had then.

``checked/<commit>/<variant>.json`` beside a repository's snapshots holds one row for each file. A
row counts while the file's mark is the same: then its hash is taken for the same, too.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.cache import write_whole
from kernelmill.runtime.files import Mark

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT: Final = 1
RACE_NS: Final = 100_000_000
"""A file changed so shortly before it was hashed could change again under the same time of change:
file systems count in steps of some milliseconds."""


def stamp_path(folder: Path) -> Path | None:
    """Return where the stamps of a build are kept; None for a folder that is not of the cache."""
    parts = folder.parts
    if len(parts) < 6 or parts[-4] != "snapshots" or parts[-2] != "build":
        return None
    repository, commit, variant = folder.parents[3], parts[-3], parts[-1]
    if not repository.name.startswith(("kernels--", "models--")):
        return None
    return repository / "checked" / commit / f"{variant}.json"


def read_stamps(path: Path, algorithm: str) -> dict[str, tuple[Mark, str]]:
    """Return the files that were hashed before: path -> (mark, hash)."""
    try:
        document = json.loads(path.read_bytes())
        if document["format"] != FORMAT or document["algorithm"] != algorithm:
            return {}
        return {name: (Mark(*mark), value) for name, (*mark, value) in document["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def settled(
    files: Mapping[str, tuple[Mark, str]], *, hashed_at_ns: int
) -> dict[str, tuple[Mark, str]]:
    """Return those of the files whose marks will tell the next change."""
    return {
        name: (mark, value)
        for name, (mark, value) in files.items()
        if mark.ctime_ns < hashed_at_ns - RACE_NS
    }


def write_stamps(path: Path, algorithm: str, files: Mapping[str, tuple[Mark, str]]) -> None:
    """Keep what was hashed, where the cache can be written."""
    rows = {name: [*mark, value] for name, (mark, value) in files.items()}
    document = {"format": FORMAT, "algorithm": algorithm, "files": rows}
    text = json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"
    with suppress(OSError):
        write_whole(path, text, scratch=path.parents[2])


def now_ns() -> int:
    """Return the time in nanoseconds since 1970."""
    return time.time_ns()
