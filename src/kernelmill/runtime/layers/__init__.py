"""Layers that run kernels: marks, mappings, and the replacing.

Importing it imports neither torch nor huggingface_hub.
"""

from kernelmill.runtime.layers.device import CUDAProperties, Device, ROCMProperties
from kernelmill.runtime.layers.extension import (
    replace_kernel_forward_from_hub,
    use_kernel_forward_from_hub,
    use_kernel_func_from_hub,
    use_kernelized_func,
)
from kernelmill.runtime.layers.fallback import KernelizeFallback, Policy
from kernelmill.runtime.layers.kernelize import kernelize
from kernelmill.runtime.layers.mapping import register_kernel_mapping, use_kernel_mapping
from kernelmill.runtime.layers.mode import Mode
from kernelmill.runtime.layers.report import Report
from kernelmill.runtime.layers.repository import (
    FuncRepository,
    LayerRepository,
    LocalFuncRepository,
    LocalLayerRepository,
    LockedFuncRepository,
    LockedLayerRepository,
)
from kernelmill.runtime.layers.settings import without_kernels
from kernelmill.runtime.layers.sites import explain

__all__ = [
    "CUDAProperties",
    "Device",
    "FuncRepository",
    "KernelizeFallback",
    "LayerRepository",
    "LocalFuncRepository",
    "LocalLayerRepository",
    "LockedFuncRepository",
    "LockedLayerRepository",
    "Mode",
    "Policy",
    "ROCMProperties",
    "Report",
    "explain",
    "kernelize",
    "register_kernel_mapping",
    "replace_kernel_forward_from_hub",
    "use_kernel_forward_from_hub",
    "use_kernel_func_from_hub",
    "use_kernel_mapping",
    "use_kernelized_func",
    "without_kernels",
]
