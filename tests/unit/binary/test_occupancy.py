from __future__ import annotations

import pytest

from kernelmill.binary.occupancy import LIMITS, occupancy


@pytest.mark.parametrize(
    ("resources", "want"),
    [
        # Register counts and waves of published gfx942 kernels, as clang reports them.
        pytest.param((222, 53_248, 512), (2, 1, "registers"), id="large-gemm"),
        pytest.param((128, 25_600, 1024), (4, 1, "registers"), id="legacy-gemm"),
        pytest.param((84, 17_664, 256), (3, 3, "lds"), id="small-tile"),
        pytest.param((35, 0, 256), (8, 8, "waves"), id="reduce"),
        pytest.param((64, 4_352, 256), (8, 8, "waves"), id="all-registers-of-eight-waves"),
        pytest.param((65, 0, 256), (7, 7, "registers"), id="one-register-more"),
        pytest.param((0, 0, 64), (8, 32, "waves"), id="nothing-used"),
        pytest.param((8, 65_536, 64), (1, 1, "lds"), id="all-lds"),
        pytest.param((8, 65_537, 64), (0, 0, "lds"), id="more-lds-than-there-is"),
        pytest.param((512, 0, 1024), (0, 0, "registers"), id="more-waves-than-registers"),
    ],
)
def test_occupancy_on_gfx942_when_a_resource_is_scarce(
    resources: tuple[int, int, int], want: tuple[int, int, str]
) -> None:
    vgprs, lds, workgroup = resources
    found = occupancy(LIMITS["gfx942"], vgpr_count=vgprs, lds_bytes=lds, workgroup_size=workgroup)
    assert (found.waves_per_simd, found.workgroups_per_cu, found.limited_by) == want


@pytest.mark.parametrize(
    ("sgprs", "want"),
    [
        # As clang reports them: with 96 scalar registers 8 waves, with 102 and more 7.
        pytest.param(96, (8, "waves"), id="96"),
        pytest.param(100, (8, "waves"), id="100"),
        pytest.param(102, (7, "scalar registers"), id="102"),
        pytest.param(107, (7, "scalar registers"), id="107"),
    ],
)
def test_occupancy_on_gfx942_when_scalar_registers_are_scarce(
    sgprs: int, want: tuple[int, str]
) -> None:
    found = occupancy(
        LIMITS["gfx942"], vgpr_count=8, lds_bytes=0, workgroup_size=64, sgpr_count=sgprs
    )
    assert (found.waves_per_simd, found.limited_by) == want


def test_occupancy_on_gfx950_when_lds_is_larger() -> None:
    found = occupancy(LIMITS["gfx950"], vgpr_count=64, lds_bytes=65_536, workgroup_size=256)
    assert found.workgroups_per_cu == 2
