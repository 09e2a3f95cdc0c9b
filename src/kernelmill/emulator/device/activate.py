"""Turn the emulated device on in this process. Nothing else in kernelmill does."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kernelmill.emulator.device.errors import DeviceError
from kernelmill.emulator.device.imports import ImportHook
from kernelmill.emulator.device.shim import Shim
from kernelmill.emulator.hip_runtime.attach import HipRuntime
from kernelmill.emulator.hip_runtime.library import ensure_runtimes

if TYPE_CHECKING:
    from kernelmill.emulator.device.settings import Settings
    from kernelmill.emulator.hip_runtime.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """The emulated device of this process."""

    runtime: HipRuntime
    settings: Settings

    @property
    def session(self) -> Session:
        """Return what was launched, and the memory."""
        return self.runtime.session


_devices: list[Device] = []
"""At most one: torch cannot forget a device."""


def active_device() -> Device | None:
    """Return the device of this process, if it is on."""
    return _devices[0] if _devices else None


def activate(settings: Settings) -> Device:
    """Turn the device on; a second time, return the one there is.

    Raises:
        DeviceError: torch is imported already.
        CompileError: the stand-in cannot be compiled.
    """
    if _devices:
        return _devices[0]
    if "torch" in sys.modules:
        raise DeviceError(
            "torch is imported already, and looks for devices only then",
            hint="start with kernel-emulator run -- COMMAND, or give pytest"
            " -p kernelmill.emulator.pytest_plugin on its command line",
        )
    runtimes = ensure_runtimes(settings.cache, path=settings.path)
    runtime = HipRuntime(runtimes, lambda: make_session(settings))
    shim = Shim(settings, runtime)
    ImportHook({"torch": shim.before_torch, "torch.cuda": shim.before_torch_cuda}).install()
    device = Device(runtime=runtime, settings=settings)
    _devices.append(device)
    return device


def make_session(settings: Settings) -> Session:
    """Return an empty session that runs kernels on the emulator."""
    # Imported with the first use: NumPy and the instruction set take 0.2 s.
    from kernelmill.emulator.hip_runtime.session import Session  # noqa: PLC0415 - see above
    from kernelmill.emulator.launch import run_dispatch  # noqa: PLC0415 - see above

    limit = settings.max_instructions
    return Session(
        execute=run_dispatch if limit is None else partial(run_dispatch, max_steps=limit),
        sanitize=settings.sanitize,
        profile=settings.profile,
        log_folder=settings.log_folder,
    )
