"""What can be wrong with the stand-in for the HIP runtime."""

from __future__ import annotations

from kernelmill.spec.errors import HostError, InputError


class CompileError(HostError, ImportError):
    """A native part of the emulator cannot be compiled here."""


class NoDeviceCode(InputError):
    """A library brings no code that the emulated device can run."""
