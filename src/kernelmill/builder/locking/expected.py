"""``build.sha256``: the files that release builds give, beside the lock. In sha256sum's format.

``cd build && sha256sum --check ../build.sha256`` checks it without kernelmill. What a build says of
itself is not in it: ``metadata.json`` names the commit that holds this file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.locking.errors import BuildLockError
from kernelmill.spec.digest import is_covered

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPECTED_NAME: Final = "build.sha256"
_LINE: Final = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<variant>[^/\s]+)/(?P<path>\S+)")

Expected = dict[str, dict[str, str]]
"""Variant -> path -> sha256."""


def parse(content: str, *, where: str) -> Expected:
    """Read ``build.sha256``.

    Raises:
        BuildLockError: a line is not one of ``sha256sum``; names it.
    """
    expected: Expected = {}
    for number, line in enumerate(content.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise BuildLockError(
                f"{line!r} is not a line of sha256sum",
                where=f"{where}:{number}",
                hint="write it with `kernel-builder build --release --record-hashes`",
            )
        expected.setdefault(match["variant"], {})[match["path"]] = match["sha256"]
    return expected


def dumps(expected: Mapping[str, Mapping[str, str]]) -> str:
    """Write ``build.sha256``: sorted, one file a line."""
    return "".join(
        f"{sha256}  {variant}/{path}\n"
        for variant, files in sorted(expected.items())
        for path, sha256 in sorted(files.items())
    )


def covered(files: Mapping[str, str]) -> dict[str, str]:
    """Return the part of path -> sha256 that is expected to be the same everywhere."""
    return {path: sha256 for path, sha256 in files.items() if is_covered(path)}


def compare(expected: Mapping[str, str], built: Mapping[str, str]) -> tuple[str, ...]:
    """Return how the files of a variant differ from what is expected, one sentence each."""
    return tuple(
        f"{path} is {_short(built.get(path))}, want {_short(expected.get(path))}"
        for path in sorted({*expected, *built})
        if expected.get(path) != built.get(path)
    )


def _short(sha256: str | None) -> str:
    return sha256[:16] if sha256 else "not there"
