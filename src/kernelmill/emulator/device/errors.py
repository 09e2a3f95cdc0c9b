"""What can be wrong with emulating a device."""

from __future__ import annotations

from kernelmill.spec.errors import HostError, InputError


class DeviceError(HostError, ImportError):
    """The emulated device cannot be built, or cannot be put into this process."""


class TorchError(DeviceError):
    """The installed torch is none that the emulated device works with."""


class CommandError(InputError):
    """The command to run is missing or cannot be started."""
