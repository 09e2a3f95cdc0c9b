"""Finds, fetches, checks and loads kernels.

Importing it imports neither torch nor huggingface_hub.
"""

from kernelmill.runtime.api import (
    LoadedKernel,
    RepoInfo,
    VariantAccepted,
    VariantRejected,
    get_kernel,
    get_kernel_dep,
    get_kernel_variants,
    get_loaded_kernels,
    get_local_kernel,
    get_locked_kernel,
    has_kernel,
    install_kernel,
    load_kernel,
)

__all__ = [
    "LoadedKernel",
    "RepoInfo",
    "VariantAccepted",
    "VariantRejected",
    "get_kernel",
    "get_kernel_dep",
    "get_kernel_variants",
    "get_loaded_kernels",
    "get_local_kernel",
    "get_locked_kernel",
    "has_kernel",
    "install_kernel",
    "load_kernel",
]
