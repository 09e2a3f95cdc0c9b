"""What can be wrong with compiling HIP."""

from __future__ import annotations

from kernelmill.spec.errors import HostError, InputError


class HipToolchainError(HostError):
    """No compiler here can make code for AMD GPUs, or one of its parts is missing."""


class UnsupportedArchError(InputError):
    """The compiler cannot target an architecture that the kernel asks for."""


class HipSourceError(InputError):
    """A kernel uses a part of HIP that the headers for cross-compilation do not have."""
