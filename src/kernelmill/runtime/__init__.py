"""Finds, fetches, checks and loads kernels.

Importing it imports neither torch nor huggingface_hub.
"""

from kernelmill.runtime.api import (
    VariantAccepted,
    VariantRejected,
    get_kernel,
    get_kernel_variants,
    get_local_kernel,
    has_kernel,
)
from kernelmill.runtime.load import LoadedKernel, RepoInfo, get_loaded_kernels

__all__ = [
    "LoadedKernel",
    "RepoInfo",
    "VariantAccepted",
    "VariantRejected",
    "get_kernel",
    "get_kernel_variants",
    "get_loaded_kernels",
    "get_local_kernel",
    "has_kernel",
]
