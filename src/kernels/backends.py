"""Backends and the versions of their runtimes."""

from kernelmill.runtime.upstream.accelerators import (
    CANN,
    CPU,
    CUDA,
    TPU,
    XPU,
    Backend,
    Metal,
    Neuron,
    ROCm,
    parse_backend,
)
from kernelmill.runtime.upstream.accelerators import detect_backend as _backend
from kernelmill.runtime.upstream.accelerators import select_backend as _select_backend

__all__ = [
    "CANN",
    "CPU",
    "CUDA",
    "TPU",
    "XPU",
    "Backend",
    "Metal",
    "Neuron",
    "ROCm",
    "_backend",
    "_select_backend",
    "parse_backend",
]
