"""The names of Hugging Face's ``kernels``, served by kernelmill.

``__version__`` is the version of ``kernels`` whose interface is offered here, since that is what
programs compare it with; ``kernelmill.__version__`` is the version of the code. Importing this
package imports nothing else: each name comes from its home when it is first used.
"""

from importlib import import_module

from kernelmill import API_VERSION

TYPE_CHECKING = False  # `typing` itself would cost more than all the rest of this import

if TYPE_CHECKING:
    from kernelmill.runtime.api import (
        get_kernel,
        get_local_kernel,
        has_kernel,
    )
    from kernelmill.runtime.benchmark import Benchmark
    from kernelmill.runtime.load import RepoInfo
    from kernelmill.runtime.upstream.loaded import LoadedKernel, get_loaded_kernels
    from kernelmill.runtime.upstream.metadata import Metadata
    from kernelmill.runtime.upstream.variants import (
        VariantAccepted,
        VariantRejected,
        get_kernel_variants,
    )

__version__ = API_VERSION

__all__ = [
    "Benchmark",
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

_HOMES = {
    "get_kernel": "kernelmill.runtime.api",
    "get_local_kernel": "kernelmill.runtime.api",
    "has_kernel": "kernelmill.runtime.api",
    "Benchmark": "kernelmill.runtime.benchmark",
    "RepoInfo": "kernelmill.runtime.load",
    "LoadedKernel": "kernelmill.runtime.upstream.loaded",
    "get_loaded_kernels": "kernelmill.runtime.upstream.loaded",
    "Metadata": "kernelmill.runtime.upstream.metadata",
    "VariantAccepted": "kernelmill.runtime.upstream.variants",
    "VariantRejected": "kernelmill.runtime.upstream.variants",
    "get_kernel_variants": "kernelmill.runtime.upstream.variants",
}
_SUBMODULES = frozenset(
    {
        "backends",
        "benchmark",
        "compat",
        "importer",
        "load",
        "variants",
    }
)


def __getattr__(name: str) -> object:
    """Import what ``name`` stands for."""
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
