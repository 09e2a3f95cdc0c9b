"""Fetching kernels without loading them."""

from kernelmill.runtime.api import (
    install_kernel,
    install_kernel_all_variants,
)

__all__ = [
    "install_kernel",
    "install_kernel_all_variants",
]
