"""The names of AMD's architectures, and what to say about one that does not exist."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

KNOWN_ARCHS: Final = frozenset(
    {
        *("gfx600", "gfx601", "gfx602", "gfx700", "gfx701", "gfx702", "gfx703", "gfx704", "gfx705"),
        *("gfx801", "gfx802", "gfx803", "gfx805", "gfx810", "gfx900", "gfx902", "gfx904", "gfx906"),
        *("gfx908", "gfx909", "gfx90a", "gfx90c", "gfx940", "gfx941", "gfx942", "gfx950"),
        *("gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1030", "gfx1031", "gfx1032", "gfx1033"),
        *("gfx1034", "gfx1035", "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150"),
        *("gfx1151", "gfx1152", "gfx1153", "gfx1200", "gfx1201", "gfx1250", "gfx1251"),
        *("gfx9-generic", "gfx9-4-generic", "gfx10-1-generic", "gfx10-3-generic"),
        *("gfx11-generic", "gfx12-generic"),
    }
)
"""Those of LLVM 22, and the two that LLVM 20 dropped.

https://llvm.org/docs/AMDGPUUsage.html#processors
"""
_CUTOFF: Final = 0.8
"""One character wrong, missing or too many; below it a suggestion would be a guess."""


def suggest_arch(arch: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant, as a question, or all of them."""
    names = sorted(known)
    near = get_close_matches(arch, names, n=1, cutoff=_CUTOFF)
    return f"did you mean {near[0]}?" if near else f"one of {' '.join(names)}"
