"""The compiler for AMD device code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class HipCompiler:
    """What was found."""

    archs: frozenset[str]
    version: str = ""
    problem: str = ""


def probe_hip(env: Mapping[str, str]) -> HipCompiler:
    """Look for it."""
    return HipCompiler(archs=frozenset(), problem="no HIP compiler")
