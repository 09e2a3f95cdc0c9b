"""What to do about a capability that one CUDA has and another has not."""

from __future__ import annotations

import pytest
from tests.unit.builder.cuda.made_up import toolkit

from kernelmill.builder.cuda.archs import check_archs


@pytest.mark.parametrize(
    ("arch", "release", "hint"),
    [
        pytest.param(
            "10.0a",
            (12, 6),
            "build for CUDA 13.0, 13.2, or give the kernel cuda-minver = '13.0'",
            id="not-yet",
        ),
        pytest.param(
            "7.0",
            (13, 0),
            "build for CUDA 12.6, or set maxver = '12.6' in [general.cuda]",
            id="no-longer",
        ),
    ],
)
def test_hint_bounds_the_cuda_on_the_side_where_the_capability_is_missing(
    arch: str, release: tuple[int, int], hint: str
) -> None:
    (finding,) = check_archs([arch], toolkit(release), where="build.toml:7")
    assert finding.hint == hint
