"""Kernels for functions."""

from kernelmill.runtime.layers import (
    FuncRepository,
    LocalFuncRepository,
    LockedFuncRepository,
    use_kernel_func_from_hub,
)

__all__ = [
    "FuncRepository",
    "LocalFuncRepository",
    "LockedFuncRepository",
    "use_kernel_func_from_hub",
]
