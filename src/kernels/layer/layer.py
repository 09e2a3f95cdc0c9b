"""Kernels for layers, and the marks that let a layer have one."""

from kernelmill.runtime.layers import (
    KernelizeFallback,
    LayerRepository,
    LocalLayerRepository,
    LockedLayerRepository,
    replace_kernel_forward_from_hub,
    use_kernel_forward_from_hub,
    use_kernelized_func,
)

__all__ = [
    "KernelizeFallback",
    "LayerRepository",
    "LocalLayerRepository",
    "LockedLayerRepository",
    "replace_kernel_forward_from_hub",
    "use_kernel_forward_from_hub",
    "use_kernelized_func",
]
