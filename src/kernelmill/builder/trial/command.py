"""The command that tests one variant, and its environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.trial.plan import Runner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kernelmill.builder.trial.plan import Trial

TESTS = "tests"
UNDER_TEST = "KERNEL_UNDER_TEST"
"""The kernel repository that tests load their kernel from."""
DEVICE = "KERNEL_TEST_DEVICE"
"""The device that tests run on, as torch calls it."""
ROCM = "KERNELMILL_EMULATOR_ROCM"
"""The ROCm that an emulated device says it is for; read by ``kernel-emulator``."""
RESULTS = "results.xml"
LAUNCHES = "launches.json"


def command_for(
    trial: Trial, *, python: str, scratch: Path, pytest_args: Sequence[str]
) -> list[str]:
    """Return the command, to be run in the kernel's folder.

    Args:
        trial: what to test.
        python: the interpreter.
        scratch: a folder for ``RESULTS`` and ``LAUNCHES``.
        pytest_args: what the user adds; tests that it names are run instead of all.
    """
    names_tests = any(word.split("/")[0] == TESTS for word in pytest_args)
    tests = [] if names_tests else [TESTS]
    command = [python, "-m", "pytest", *tests, f"--junitxml={scratch / RESULTS}", *pytest_args]
    if trial.runner is not Runner.EMULATOR:
        return command
    watch = ["--sanitize"] if trial.sanitize else []
    watch += ["--profile"] if trial.profile else []
    report = ["--report", str(scratch / LAUNCHES)]
    return [python, "-m", "kernelmill.emulator", "run", *watch, *report, "--", *command]


def environment_for(trial: Trial, environ: Mapping[str, str], *, root: Path) -> dict[str, str]:
    """Return the environment: the kernel in ``root`` is tested on the trial's device."""
    device = "cpu" if trial.runner is Runner.CPU else "cuda"  # torch calls AMD devices "cuda"
    own = {UNDER_TEST: str(root), DEVICE: device}
    if trial.runner is Runner.EMULATOR and trial.rocm:
        own[ROCM] = ".".join(map(str, (*trial.rocm, 0)))
    return {**environ, **own}
