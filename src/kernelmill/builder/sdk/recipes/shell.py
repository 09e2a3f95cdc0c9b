"""A bash that needs no libraries, from Debian's package: ``nix develop`` starts with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.sdk.debs import open_deb, unpack_deb
from kernelmill.builder.sdk.pins import known_files, known_inputs
from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KIND = "shell"
SUMMARY = "a static bash, from Debian's package, for `nix develop`"

VERSION: Final = "5.2.15"
_PLATFORM: Final = "x86_64-linux"
_KEPT: Final = ("usr/bin/bash-static", "usr/share/doc/bash-static/copyright")


def wanted(version: str, platform: str) -> Sequence[Wanted]:
    """Return Debian's package."""
    if version != VERSION or platform != _PLATFORM:
        raise InputError(f"no {KIND}-{version} for {platform}", hint=f"there is {KIND}-{VERSION}")
    (bash,) = known_inputs()[KIND][VERSION]
    known = known_files(KIND, VERSION, bash.name)
    return [Wanted(name=bash.name, version=bash.version, known=known, source="debian")]


def make(
    files: Mapping[str, Path], _platform: str, tree: Path, _note: Callable[[str], None]
) -> Made:
    """Take the program and its license."""
    with open_deb(files["bash-static"]) as package:
        unpack_deb(package, tree, is_wanted=_KEPT.__contains__)
    (tree / "bin").mkdir()
    (tree / "usr/bin/bash-static").rename(tree / "bin/bash")
    (tree / "usr/bin").rmdir()
    return Made(version=VERSION)
