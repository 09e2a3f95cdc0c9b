"""What a kernel runs on."""

from kernelmill.runtime.layers import (
    CUDAProperties,
    Device,
    ROCMProperties,
)

__all__ = [
    "CUDAProperties",
    "Device",
    "ROCMProperties",
]
