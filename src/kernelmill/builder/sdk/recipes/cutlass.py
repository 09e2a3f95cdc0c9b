"""The headers of CUTLASS and CuTe, from NVIDIA's wheel of CUTLASS for Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.builder.sdk.recipes.cuda import wanted_wheels
from kernelmill.builder.sdk.wheels import open_wheel, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KIND = "cutlass"
SUMMARY = "headers of CUTLASS, for kernels that depend on it"

_HEADER: Final = re.compile(r"cutlass_library/source/(?P<path>(?:tools/util/)?include/.+)")
_LICENSE: Final = re.compile(r"nvidia_cutlass-[^/]+\.dist-info/(?:licenses/)?LICENSE\.txt")


def wanted(version: str, platform: str) -> Sequence[Wanted]:
    """Return the wheel of a release; ``3.8`` means the known release of 3.8."""
    return wanted_wheels(KIND, version, platform)


def make(
    files: Mapping[str, Path], _platform: str, tree: Path, note: Callable[[str], None]
) -> Made:
    """Unpack the headers."""
    (path,) = files.values()
    note(f"unpacking the headers of {path.name}")
    with open_wheel(path) as wheel:
        unpack(wheel, tree, place=_place)
    return Made(version=path.name.split("-")[1])


def _place(path: str) -> str | None:
    if _LICENSE.fullmatch(path):
        return "LICENSE.txt"
    found = _HEADER.fullmatch(path)
    return found["path"] if found else None
