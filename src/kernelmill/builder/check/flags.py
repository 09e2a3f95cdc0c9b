"""Compiler flags that decide for all architectures what each one has to decide for itself (F6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMAT: Final = re.compile(
    r"-D\s*(?P<name>\w*(?:FP8|F8|fp8)\w*(?:FNUZ|OCP|fnuz|ocp)\w*|\w*(?:FNUZ|OCP)\w*FP8\w*)(?:=.*)?"
)
_ARCH: Final = re.compile(r"-D\s*(?P<name>_*(?:GFX|gfx|SM|sm|ARCH|HAS_MI|MI)_?\d{2,}\w*)(?:=.*)?")


def check_flags(flags: Sequence[str], *, archs: Sequence[str], where: str) -> tuple[Finding, ...]:
    """Find macros on the command line that stand for one architecture or its FP8 format.

    The command line is the same for every architecture, so with two of them one gets the other's.

    Args:
        flags: of the device compiler.
        archs: what they compile for; empty when that is not known yet.
        where: the kernel, for the findings.
    """
    found = [
        match["name"] for it in flags if (match := (_FORMAT.fullmatch(it) or _ARCH.fullmatch(it)))
    ]
    return tuple(
        Finding(
            problem=f"{where}: -D{name} is the same for {', '.join(archs) or 'every architecture'}",
            hint="decide in the source, by what the compiler defines for each: __gfx942__",
        )
        for name in found
        if len(archs) != 1
    )
