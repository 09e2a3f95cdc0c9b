"""How many waves of a kernel a compute unit can hold: a static bound, never a time.

Register files: LLVM's AMDGPU backend (``AMDGPUBaseInfo.cpp``) and AMD's CDNA3 ISA guide, 3.6. The
formula agrees with what clang prints for ``-Rpass-analysis=kernel-resource-usage``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

SIMDS: Final = 4
"""SIMD units of one compute unit; each runs whole waves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one compute unit has."""

    vgprs: int
    """Vector registers for each lane of a SIMD, accumulation registers included."""
    vgpr_granule: int
    waves_per_simd: int
    lds_bytes: int
    wave_lanes: int = 64
    sgprs_of_all_waves: int = 100
    """Scalar registers that ``waves_per_simd`` waves can have; with more there is one less."""


LIMITS: Final = {
    "gfx90a": Limits(vgprs=512, vgpr_granule=8, waves_per_simd=8, lds_bytes=64 * 1024),
    "gfx942": Limits(vgprs=512, vgpr_granule=8, waves_per_simd=8, lds_bytes=64 * 1024),
    "gfx950": Limits(vgprs=512, vgpr_granule=8, waves_per_simd=8, lds_bytes=160 * 1024),
}
"""By architecture. One that is not here has no estimate."""


Limit = Literal["waves", "registers", "scalar registers", "lds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """The bound, and what sets it."""

    waves_per_simd: int
    """0 when not even one workgroup fits."""
    workgroups_per_cu: int
    limited_by: Limit


def occupancy(
    limits: Limits, *, vgpr_count: int, lds_bytes: int, workgroup_size: int, sgpr_count: int = 0
) -> Occupancy:
    """Return how many waves and workgroups fit.

    Args:
        limits: of the architecture.
        vgpr_count: registers per lane, accumulation registers included, as in the code object.
        lds_bytes: local data share of one workgroup.
        workgroup_size: lanes; waves of one workgroup are spread evenly over the SIMDs.
        sgpr_count: scalar registers, with those that hardware adds, as in the code object.
    """
    granules = max(1, -(-vgpr_count // limits.vgpr_granule))
    by_registers = limits.vgprs // (granules * limits.vgpr_granule)
    waves_per_group = max(1, -(-workgroup_size // limits.wave_lanes))
    by_scalars = limits.waves_per_simd - (sgpr_count > limits.sgprs_of_all_waves)
    groups: dict[Limit, int] = {
        "waves": limits.waves_per_simd * SIMDS // waves_per_group,
        "registers": by_registers * SIMDS // waves_per_group,
        "scalar registers": by_scalars * SIMDS // waves_per_group,
        "lds": limits.lds_bytes // lds_bytes if lds_bytes else limits.waves_per_simd * SIMDS,
    }
    fits = min(groups.values())
    return Occupancy(
        waves_per_simd=min(limits.waves_per_simd, -(-fits * waves_per_group // SIMDS)),
        workgroups_per_cu=fits,
        limited_by=next(reason for reason, count in groups.items() if count == fits),
    )
