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
        get_kernel_dep,
        get_local_kernel,
        get_locked_kernel,
        has_kernel,
        install_kernel,
        load_kernel,
    )
    from kernelmill.runtime.benchmark import (
        Benchmark,
    )
    from kernelmill.runtime.layers import (
        CUDAProperties,
        Device,
        FuncRepository,
        KernelizeFallback,
        LayerRepository,
        LocalFuncRepository,
        LocalLayerRepository,
        LockedFuncRepository,
        LockedLayerRepository,
        Mode,
        ROCMProperties,
        explain,
        kernelize,
        register_kernel_mapping,
        replace_kernel_forward_from_hub,
        use_kernel_forward_from_hub,
        use_kernel_func_from_hub,
        use_kernel_mapping,
        use_kernelized_func,
    )
    from kernelmill.runtime.loaded import (
        RepoInfo,
    )
    from kernelmill.runtime.upstream.loaded import (
        LoadedKernel,
        get_loaded_kernels,
    )
    from kernelmill.runtime.upstream.metadata import (
        Metadata,
    )
    from kernelmill.runtime.upstream.variants import (
        VariantAccepted,
        VariantRejected,
        get_kernel_variants,
    )

__version__ = API_VERSION

__all__ = [
    "Benchmark",
    "CUDAProperties",
    "Device",
    "FuncRepository",
    "KernelizeFallback",
    "LayerRepository",
    "LoadedKernel",
    "LocalFuncRepository",
    "LocalLayerRepository",
    "LockedFuncRepository",
    "LockedLayerRepository",
    "Metadata",
    "Mode",
    "ROCMProperties",
    "RepoInfo",
    "VariantAccepted",
    "VariantRejected",
    "__version__",
    "explain",
    "get_kernel",
    "get_kernel_dep",
    "get_kernel_variants",
    "get_loaded_kernels",
    "get_local_kernel",
    "get_locked_kernel",
    "has_kernel",
    "install_kernel",
    "kernelize",
    "load_kernel",
    "register_kernel_mapping",
    "replace_kernel_forward_from_hub",
    "use_kernel_forward_from_hub",
    "use_kernel_func_from_hub",
    "use_kernel_mapping",
    "use_kernelized_func",
]

_HOMES = {
    "kernelmill.runtime.api": (
        "get_kernel",
        "get_kernel_dep",
        "get_local_kernel",
        "get_locked_kernel",
        "has_kernel",
        "install_kernel",
        "load_kernel",
    ),
    "kernelmill.runtime.benchmark": ("Benchmark",),
    "kernelmill.runtime.layers": (
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
        "ROCMProperties",
        "explain",
        "kernelize",
        "register_kernel_mapping",
        "replace_kernel_forward_from_hub",
        "use_kernel_forward_from_hub",
        "use_kernel_func_from_hub",
        "use_kernel_mapping",
        "use_kernelized_func",
    ),
    "kernelmill.runtime.loaded": ("RepoInfo",),
    "kernelmill.runtime.upstream.loaded": (
        "LoadedKernel",
        "get_loaded_kernels",
    ),
    "kernelmill.runtime.upstream.metadata": ("Metadata",),
    "kernelmill.runtime.upstream.variants": (
        "VariantAccepted",
        "VariantRejected",
        "get_kernel_variants",
    ),
}
"""Module -> the names that come from it."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES = frozenset(
    {
        "backends",
        "benchmark",
        "cli",
        "compat",
        "deps",
        "hf_hub",
        "importer",
        "install",
        "layer",
        "load",
        "locking",
        "python_deps",
        "resolver",
        "status",
        "utils",
        "variants",
        "verify",
    }
)


def __getattr__(name: str) -> object:
    """Import what ``name`` stands for."""
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
