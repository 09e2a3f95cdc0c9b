"""The errors of running device code."""

from __future__ import annotations

from kernelmill.spec.errors import InputError, KernelError


class LaunchError(InputError):
    """A launch that no device would accept: unknown kernel, wrong arguments, too much LDS."""


class UnsupportedInstruction(KernelError, NotImplementedError):
    """An instruction, or one of its modifiers, that the emulator does not know."""

    exit_code = 3


class DeviceFault(KernelError):
    """Device code did what makes hardware stop: a wild access, a trap, a jump to nowhere."""

    exit_code = 1


class Stuck(DeviceFault):
    """Waves wait for something that will not happen."""
