"""The compiler of AMD device code in hermetic builds: the clang inside the wheel ``ziglang``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.sdk.pins import known_files, known_inputs
from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.builder.sdk.wheels import open_wheel, unpack
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KIND = "zig"
SUMMARY = "clang and lld for AMD GPUs, from the wheel ziglang"

VERSION: Final = "0.17.1"
_PLATFORM: Final = "x86_64-linux"
_KEPT: Final = ("ziglang/zig", "ziglang/lib/include/", "ziglang-0.17.1.dist-info/")
"""The program and clang's own headers; the rest is for zig programs and other systems."""


def wanted(version: str, platform: str) -> Sequence[Wanted]:
    """Return the wheel."""
    if version != VERSION or platform != _PLATFORM:
        raise InputError(f"no {KIND}-{version} for {platform}", hint=f"there is {KIND}-{VERSION}")
    (wheel,) = known_inputs()[KIND][VERSION]
    return [Wanted(name=wheel.name, version=VERSION, known=known_files(KIND, VERSION, wheel.name))]


def make(
    files: Mapping[str, Path], _platform: str, tree: Path, _note: Callable[[str], None]
) -> Made:
    """Unpack what compiling device code needs, in the layout of the installed package."""
    with open_wheel(files["ziglang"]) as wheel:
        unpack(wheel, tree, place=lambda path: path if path.startswith(_KEPT) else None)
    return Made(version=VERSION)
