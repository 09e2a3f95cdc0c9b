"""Whether a build read files of the kernel that its manifest does not name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding
from kernelmill.builder.sources import GENERATED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path


def check_headers(
    read: Iterable[Path], *, root: Path, known: Collection[str], ignored: Path
) -> tuple[Finding, ...]:
    """Find files that were compiled in although ``build.toml`` does not name them.

    A build's id is made of the files that are named: a change in any other would give a different
    build the same id.

    Args:
        read: absolute paths of all files that the compilers read.
        root: the kernel's folder.
        known: paths that the manifest names, relative to ``root``.
        ignored: a folder below ``root`` with generated files.
    """
    inside = (it for it in read if it.is_relative_to(root) and not it.is_relative_to(ignored))
    return tuple(
        Finding(
            problem=f"{path} is compiled in, but build.toml does not name it",
            hint="add it to src, or its folder to include",
        )
        for path in sorted(it.relative_to(root).as_posix() for it in inside)
        if path not in known and path not in GENERATED
    )
