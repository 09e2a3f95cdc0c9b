"""Loading kernels."""

from kernelmill.runtime.api import (
    get_kernel,
    get_local_kernel,
    get_locked_kernel,
    has_kernel,
    load_kernel,
)

__all__ = [
    "get_kernel",
    "get_local_kernel",
    "get_locked_kernel",
    "has_kernel",
    "load_kernel",
]
