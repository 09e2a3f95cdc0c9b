"""The names of Hugging Face's ``kernels``, served by kernelmill.

``__version__`` is the version of ``kernels`` whose interface is offered here, since that is what
programs compare it with; ``kernelmill.__version__`` is the version of the code.
"""

from kernelmill.runtime import (
    LoadedKernel,
    RepoInfo,
    VariantAccepted,
    VariantRejected,
    get_kernel,
    get_kernel_variants,
    get_loaded_kernels,
    get_local_kernel,
    has_kernel,
)
from kernelmill.runtime.settings import API_VERSION
from kernelmill.spec.metadata import Metadata

__version__ = API_VERSION

__all__ = [
    "LoadedKernel",
    "Metadata",
    "RepoInfo",
    "VariantAccepted",
    "VariantRejected",
    "__version__",
    "get_kernel",
    "get_kernel_variants",
    "get_loaded_kernels",
    "get_local_kernel",
    "has_kernel",
]
