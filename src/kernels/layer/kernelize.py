"""Which kernels replace which layers, and the replacing."""

from kernelmill.runtime.layers import (
    kernelize,
    register_kernel_mapping,
    use_kernel_mapping,
)

__all__ = [
    "kernelize",
    "register_kernel_mapping",
    "use_kernel_mapping",
]
