"""Tests that could not run anywhere are not tests that passed."""

from __future__ import annotations

import pytest
from tests.unit.builder.trial.fakes import ROCM, plan, site

from kernelmill.spec.errors import HostError


def test_nothing_is_passed_when_no_build_can_run_here() -> None:
    with pytest.raises(HostError) as caught:
        plan(["torch-cuda", "torch-rocm"])
    assert caught.value.problem.splitlines() == [
        "none of what is built can be tested here:",
        "  leaving out cuda: no NVIDIA GPU here; run the kernel's tests on a machine with one",
        "  leaving out rocm: no AMD GPU here; run the kernel's tests on a machine with one",
    ]
    assert caught.value.hint.endswith("built for: cuda, rocm")


def test_only_what_holds_device_code_is_said_to_be_emulated() -> None:
    [rocm] = plan(["torch-cpu", "torch-rocm"]).omitted
    assert "--emulate" not in rocm
    [compiled] = plan(["torch-cpu", ROCM]).omitted
    assert "add --emulate" in compiled
    [cpu_torch] = plan(["torch-cpu", "torch-rocm"], at=site(gpus=("gfx942",))).omitted
    assert cpu_torch.endswith("install a PyTorch for ROCm")
