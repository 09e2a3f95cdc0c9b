"""Loading kernels."""

from kernelmill.runtime.api import (
    get_kernel,
    get_local_kernel,
    get_locked_kernel,
    has_kernel,
    load_kernel,
)
from kernelmill.runtime.upstream.trees import get_kernel_with_resolver

__all__ = [
    "get_kernel",
    "get_kernel_with_resolver",
    "get_local_kernel",
    "get_locked_kernel",
    "has_kernel",
    "load_kernel",
]
