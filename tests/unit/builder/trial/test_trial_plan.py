"""Which variants are tested, and on what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.builder.trial.fakes import CPU, OLD_ROCM, OTHER_TORCH, ROCM, plan, site

from kernelmill.builder.trial.plan import Plan, Runner
from kernelmill.spec.errors import HostError, InputError, KernelError

if TYPE_CHECKING:
    from collections.abc import Sequence

GPU = site(gpus=("gfx942",), rocm=(7, 1))


def titles(planned: Plan) -> list[str]:
    return [trial.title for trial in planned.trials]


@pytest.mark.parametrize(
    ("names", "options", "expected"),
    [
        pytest.param([CPU], {}, [f"{CPU} (cpu)"], id="cpu"),
        pytest.param([ROCM, CPU], {"at": GPU}, [f"{CPU} (cpu)", f"{ROCM} (gpu)"], id="gpu"),
        pytest.param(
            [ROCM, CPU], {"emulate": True}, [f"{CPU} (cpu)", f"{ROCM} (emulated)"], id="emulated"
        ),
        pytest.param(
            [CPU, ROCM],
            {"backends": ["rocm"], "emulate": True, "sanitize": True},
            [f"{ROCM} (emulated, sanitized)"],
            id="one-backend",
        ),
        pytest.param(
            [ROCM, OLD_ROCM],
            {"emulate": True},
            [f"{OLD_ROCM} (emulated)", f"{ROCM} (emulated)"],
            id="each-rocm",
        ),
        pytest.param([OLD_ROCM, ROCM], {"at": GPU}, [f"{ROCM} (gpu)"], id="rocm-of-the-gpu"),
        pytest.param(
            [OTHER_TORCH, ROCM], {"emulate": True}, [f"{ROCM} (emulated)"], id="torch-that-fits"
        ),
        pytest.param(["x", "torch-cpu", CPU], {}, [f"{CPU} (cpu)"], id="other-folders"),
        pytest.param(
            [ROCM], {"at": GPU, "emulate": True}, [f"{ROCM} (emulated)"], id="emulated-despite-gpu"
        ),
    ],
)
def test_trials_are_those_that_can_run_when_planned(
    names: Sequence[str], options: dict[str, Any], expected: list[str]
) -> None:
    assert titles(plan(names, **options)) == expected


def test_rocm_is_left_out_with_a_reason_when_there_is_no_gpu_and_nobody_asked() -> None:
    planned = plan([CPU, ROCM])
    assert [trial.runner for trial in planned.trials] == [Runner.CPU]
    assert planned.omitted == (
        "leaving out rocm: no AMD GPU here; add --emulate to run without one",
    )


@pytest.mark.parametrize(
    ("names", "options", "error", "text"),
    [
        pytest.param(
            [],
            {},
            InputError,
            "nothing is built yet\n  hint: run `kernel-builder build gemm`",
            id="nothing",
        ),
        pytest.param(
            [CPU],
            {"emulate": True},
            InputError,
            "no build for rocm here yet\n  hint: run `kernel-builder build gemm --backend rocm`",
            id="nothing-to-emulate",
        ),
        pytest.param(
            [ROCM],
            {"backends": ["cpu"]},
            InputError,
            "no build for cpu here yet\n  hint: run `kernel-builder build gemm --backend cpu`",
            id="not-this-backend",
        ),
        pytest.param(
            [CPU, ROCM],
            {"backends": ["rocm"]},
            HostError,
            "no AMD GPU here\n  hint: add --emulate to run without one",
            id="no-gpu",
        ),
        pytest.param([ROCM], {}, HostError, "no AMD GPU here", id="no-gpu-and-nothing-else"),
        pytest.param(
            [ROCM],
            {"at": site(gpus=("gfx942",))},
            HostError,
            "the installed PyTorch is not for ROCm",
            id="torch-without-rocm",
        ),
        pytest.param(
            [OTHER_TORCH],
            {"emulate": True},
            InputError,
            "nothing that is built for rocm fits here:",
            id="built-for-other-torch",
        ),
        pytest.param(
            [CPU],
            {"sanitize": True},
            InputError,
            "only emulated kernels can be sanitized\n  hint: add --emulate",
            id="sanitize-alone",
        ),
        pytest.param(
            [CPU],
            {"profile": True},
            InputError,
            "only emulated kernels can be profiled\n  hint: add --emulate",
            id="profile-alone",
        ),
        pytest.param(
            [CPU],
            {"backends": ["cpu"], "emulate": True},
            InputError,
            "only ROCm kernels can be emulated",
            id="emulate-cpu",
        ),
        pytest.param([CPU], {"backends": ["xpu"]}, InputError, "cannot build for xpu", id="xpu"),
    ],
)
def test_plan_is_refused_when_it_cannot_be_run(
    names: Sequence[str], options: dict[str, Any], error: type[KernelError], text: str
) -> None:
    with pytest.raises(error) as caught:
        plan(names, **options)
    assert str(caught.value).startswith(text)
