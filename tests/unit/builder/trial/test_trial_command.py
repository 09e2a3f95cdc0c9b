"""The command of a trial, and its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.builder.trial.fakes import CPU, OLD_ROCM, ROCM, plan, site

from kernelmill.builder.trial.command import command_for, environment_for

SCRATCH = Path("/scratch")
ROOT = Path("/kernel")
PYTEST = ["python", "-m", "pytest", "tests", "--junitxml=/scratch/results.xml"]


def test_pytest_is_run_directly_when_nothing_is_emulated() -> None:
    for planned in (plan([CPU]), plan([ROCM], at=site(gpus=("gfx942",), rocm=(7, 1)))):
        (trial,) = planned.trials
        made = command_for(trial, python="python", scratch=SCRATCH, pytest_args=["-k", "small"])
        assert made == [*PYTEST, "-k", "small"]


@pytest.mark.parametrize(
    ("watch", "option"),
    [
        pytest.param({}, [], id="plain"),
        pytest.param({"sanitize": True}, ["--sanitize"], id="sanitized"),
        pytest.param(
            {"sanitize": True, "profile": True}, ["--sanitize", "--profile"], id="profiled"
        ),
    ],
)
def test_pytest_is_run_by_the_emulator_when_emulated(
    watch: dict[str, Any], option: list[str]
) -> None:
    (trial,) = plan([ROCM], emulate=True, **watch).trials
    made = command_for(trial, python="python", scratch=SCRATCH, pytest_args=[])
    emulator = ["python", "-m", "kernelmill.emulator", "run"]
    assert made == [*emulator, *option, "--report", "/scratch/launches.json", "--", *PYTEST]


@pytest.mark.parametrize("word", ["tests", "tests/test_a.py", "tests/test_a.py::test_b"])
def test_only_the_tests_that_are_named_are_run_when_some_are(word: str) -> None:
    (trial,) = plan([CPU]).trials
    made = command_for(trial, python="python", scratch=SCRATCH, pytest_args=[word])
    assert made == ["python", "-m", "pytest", "--junitxml=/scratch/results.xml", word]


def test_environment_names_kernel_and_device_when_run() -> None:
    (cpu,) = plan([CPU]).trials
    assert environment_for(cpu, {"A": "1", "KERNEL_TEST_DEVICE": "x"}, root=ROOT) == {
        "A": "1",
        "KERNEL_UNDER_TEST": "/kernel",
        "KERNEL_TEST_DEVICE": "cpu",
    }
    (gpu,) = plan([ROCM], at=site(gpus=("gfx942",), rocm=(7, 1))).trials
    assert environment_for(gpu, {}, root=ROOT) == {
        "KERNEL_UNDER_TEST": "/kernel",
        "KERNEL_TEST_DEVICE": "cuda",
    }
    (old,) = plan([OLD_ROCM], emulate=True).trials
    assert environment_for(old, {}, root=ROOT) == {
        "KERNEL_UNDER_TEST": "/kernel",
        "KERNEL_TEST_DEVICE": "cuda",
        "KERNELMILL_EMULATOR_ROCM": "6.4.0",
    }
