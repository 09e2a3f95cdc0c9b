"""Run a kernel's own tests on the emulated device: ``pytest -p kernelmill.emulator.pytest_plugin``.

The device is on from before the first ``conftest.py`` on, in this process: no re-execution. The
plug-in must be named on the command line or in ``addopts``; later torch may be imported already.

A test fails if it leaves a failed launch behind that it did not notice, or a finding. The run fails
if nothing was launched at all: tests that skip themselves prove nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, overload

import pytest

from kernelmill.emulator.device.activate import Device, activate, active_device
from kernelmill.emulator.device.launcher import (
    describe_launches,
    render_profile,
    render_report,
    write_report,
)
from kernelmill.emulator.device.settings import read_settings
from kernelmill.spec.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Generator

    from kernelmill.emulator.hip_runtime.session import LaunchRecord

NAME: Final = "kernelmill.emulator.pytest_plugin"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("kernelmill emulator")
    group.addoption("--emulator-sanitize", action="store_true", help="look for faults in kernels")
    group.addoption(
        "--emulator-report", type=Path, metavar="FILE", help="write every launch to FILE, as JSON"
    )
    group.addoption(
        "--emulator-profile",
        type=Path,
        metavar="FILE",
        help="count what kernels do, emulated or modelled, and write it to FILE, as JSON",
    )
    group.addoption(
        "--emulator-allow-no-launch",
        action="store_true",
        help="let a run pass that launches no kernel on the emulated device",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Turn the device on."""
    try:
        activate(read_settings(os.environ))
    except KernelError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to be loaded too late."""
    device = active_device()
    if device is None:
        raise pytest.UsageError(
            f"{NAME} was loaded too late: give -p {NAME} on the command line or in addopts"
        )
    if config.getoption("emulator_sanitize"):
        device.session.sanitize = True
    if config.getoption("emulator_profile"):
        device.session.profile = True


def _device() -> Device:
    device = active_device()
    assert device is not None
    return device


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Fail a test for what its launches left behind."""
    device = _device()
    start = len(device.session.launches)
    try:
        result = yield
    except BaseException:
        device.runtime.take_fault()  # the test's own failure says more
        raise
    if device.runtime.take_fault() is not None:
        raise device.session.failures[-1]
    findings = [
        str(finding["text"])
        for launch in device.session.launches[start:]
        for finding in launch.findings
    ]
    if findings:
        pytest.fail("the sanitizer found:\n" + "\n".join(findings), pytrace=False)
    return result


class Launches(Sequence["LaunchRecord"]):
    """The launches since some moment; grows."""

    def __init__(self, launches: Sequence[LaunchRecord]) -> None:
        self._all = launches
        self._start = len(launches)

    @overload
    def __getitem__(self, index: int) -> LaunchRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LaunchRecord]: ...
    def __getitem__(self, index: int | slice) -> LaunchRecord | Sequence[LaunchRecord]:
        """Return one launch, or several."""
        return self._all[self._start :][index]

    def __len__(self) -> int:
        """Return how many there were."""
        return len(self._all) - self._start


@pytest.fixture
def emulated_launches() -> Generator[Launches]:
    """Give the launches since the test began. A test that asks for them must launch something."""
    launches = Launches(_device().session.launches)
    yield launches
    if not launches:
        pytest.fail("the test launched no kernel on the emulated device", pytrace=False)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the report; let a run fail that launched nothing."""
    launches = [asdict(launch) for launch in _launches()]
    if not launches and exitstatus == pytest.ExitCode.OK and not _allows_none(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    path: Path | None = session.config.getoption("emulator_report")
    if path:
        command = ["pytest", *session.config.invocation_params.args]
        write_report(path, render_report(command, int(session.exitstatus), launches))
    profile: Path | None = session.config.getoption("emulator_profile")
    if profile:
        write_report(profile, render_profile(launches))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was emulated."""
    launches = _launches()
    text = describe_launches([asdict(launch) for launch in launches])
    if launches or _allows_none(config):
        terminalreporter.write_line(text)
        return
    terminalreporter.write_line(
        f"{text}: tests that launch nothing prove nothing of a kernel"
        " (--emulator-allow-no-launch lets such a run pass)",
        red=True,
    )


def _allows_none(config: pytest.Config) -> bool:
    return bool(config.getoption("emulator_allow_no_launch") or config.option.collectonly)


def _launches() -> Sequence[LaunchRecord]:
    runtime = _device().runtime
    return runtime.session.launches if runtime.is_used else ()
