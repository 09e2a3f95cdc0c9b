"""Names that were here until version 0.10."""

from kernelmill.runtime.api import (
    get_kernel,
    get_local_kernel,
    has_kernel,
    install_kernel,
    install_kernel_all_variants,
    load_kernel,
)

__all__ = [
    "get_kernel",
    "get_local_kernel",
    "has_kernel",
    "install_kernel",
    "install_kernel_all_variants",
    "load_kernel",
]
