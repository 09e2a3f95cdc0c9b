"""What a kernel may ask for while it is loaded."""

from kernelmill.runtime.api import (
    get_kernel_dep,
)

__all__ = [
    "get_kernel_dep",
]
