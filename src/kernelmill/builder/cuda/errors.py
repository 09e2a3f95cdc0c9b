"""What can be wrong with compiling CUDA."""

from __future__ import annotations

from kernelmill.spec.errors import HostError, InputError


class CudaToolchainError(HostError):
    """A CUDA toolkit is not whole, or does not take this machine's C++ compiler."""


class CudaArchError(InputError):
    """The compiler cannot target an architecture that the kernel asks for."""


class CudaSourceError(InputError):
    """A kernel uses a part of CUDA that the toolkit at hand does not have."""
