"""The Python packages that hermetic builds run: CMake, Ninja, and what the builder imports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.sdk.pins import known_files, known_inputs
from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.builder.sdk.wheels import open_wheel, unpack
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KIND = "tools"
SUMMARY = "CMake, Ninja and the Python packages that hermetic builds run, from their wheels"

VERSION: Final = "1"
"""Of the list of wheels in ``data/toolchains.toml``."""
_PLATFORM: Final = "x86_64-linux"
_SCRIPT: Final = re.compile(r"[^/]+\.data/scripts/(?P<name>[^/]+)")
_UNWANTED: Final = re.compile(r"cmake/data/(?:doc|share/(?:vim|emacs|bash-completion))/.*")


def wanted(version: str, platform: str) -> Sequence[Wanted]:
    """Return the wheels."""
    if version != VERSION or platform != _PLATFORM:
        raise InputError(f"no {KIND}-{version} for {platform}", hint=f"there is {KIND}-{VERSION}")
    return [
        Wanted(name=it.name, version=it.version, known=known_files(KIND, VERSION, it.name))
        for it in known_inputs()[KIND][VERSION]
    ]


def make(
    files: Mapping[str, Path], _platform: str, tree: Path, _note: Callable[[str], None]
) -> Made:
    """Unpack the wheels side by side, programs into ``bin``."""
    for name in sorted(files):
        with open_wheel(files[name]) as wheel:
            unpack(wheel, tree, place=_place)
    return Made(version=VERSION)


def _place(path: str) -> str | None:
    if script := _SCRIPT.fullmatch(path):
        return f"bin/{script['name']}"
    return None if _UNWANTED.fullmatch(path) else path
