"""What a launch's waves take up, and how many of them a compute unit holds: a static bound."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.binary.occupancy import LIMITS, occupancy

if TYPE_CHECKING:
    from kernelmill.binary.code_object import CodeObject, Kernel
    from kernelmill.emulator.launch import Dispatch

ARCH: Final = "gfx942"
CODE_DIGITS: Final = 12
LimitedBy = Literal["waves", "VGPR", "AGPR", "SGPR", "LDS"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Registers and LDS of one launch."""

    code: str
    """Of the kernel's machine code: the first digits of its SHA-256."""
    vgprs: int
    """For each lane, without accumulation registers; with those that fill the gap before them."""
    agprs: int
    sgprs: int
    lds_bytes: int
    """Of a workgroup: what the kernel declares and what the launch adds."""
    private_bytes: int
    """Scratch memory of one lane."""
    workgroup_size: int
    """In work-items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How many waves fit at most, and what sets that."""

    waves_per_simd: int
    workgroups_per_cu: int
    limited_by: LimitedBy
    """Waves: nothing runs out but the 8 places of a SIMD. Of vector and accumulation registers,
    which share one file, the kind that takes more of it."""


def resources_of(dispatch: Dispatch, kernel: Kernel) -> Resources:
    """Return what a launch takes up."""
    return Resources(
        code=_digest(dispatch.code_object, kernel),
        vgprs=kernel.vgpr_count - kernel.agpr_count,
        agprs=kernel.agpr_count,
        sgprs=kernel.sgpr_count,
        lds_bytes=kernel.lds_bytes + dispatch.dynamic_lds_bytes,
        private_bytes=kernel.private_bytes,
        workgroup_size=prod(dispatch.block),
    )


def _digest(code_object: CodeObject, kernel: Kernel) -> str:
    return hashlib.sha256(code_object.code(kernel)).hexdigest()[:CODE_DIGITS]


def bound_of(resources: Resources) -> Bound:
    """Return how many waves of a launch a compute unit of gfx942 can hold."""
    found = occupancy(
        LIMITS[ARCH],
        vgpr_count=resources.vgprs + resources.agprs,
        lds_bytes=resources.lds_bytes,
        workgroup_size=resources.workgroup_size,
        sgpr_count=resources.sgprs,
    )
    names: dict[str, LimitedBy] = {
        "waves": "waves",
        "registers": "AGPR" if resources.agprs > resources.vgprs else "VGPR",
        "scalar registers": "SGPR",
        "lds": "LDS",
    }
    return Bound(
        waves_per_simd=found.waves_per_simd,
        workgroups_per_cu=found.workgroups_per_cu,
        limited_by=names[found.limited_by],
    )
