"""The package `kernels`: every name that programs import from Hugging Face's, and what it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import kernelmill
import kernels
from kernelmill.runtime import api

PUBLIC: Final = """
__version__ Benchmark CUDAProperties Device FuncRepository KernelizeFallback LayerRepository
LoadedKernel LocalFuncRepository LocalLayerRepository LockedFuncRepository LockedLayerRepository
Metadata Mode ROCMProperties RepoInfo VariantAccepted VariantRejected get_kernel get_kernel_dep
get_kernel_variants get_loaded_kernels get_local_kernel get_locked_kernel has_kernel
install_kernel kernelize load_kernel register_kernel_mapping replace_kernel_forward_from_hub
use_kernel_forward_from_hub use_kernel_func_from_hub use_kernel_mapping use_kernelized_func
"""
LAYER: Final = """
CUDAProperties Device FuncRepository KernelizeFallback LayerRepository LocalFuncRepository
LocalLayerRepository LockedFuncRepository LockedLayerRepository Mode ROCMProperties kernelize
register_kernel_mapping replace_kernel_forward_from_hub use_kernel_forward_from_hub
use_kernel_func_from_hub use_kernel_mapping use_kernelized_func
"""

NAMES: Final = {
    "kernels": PUBLIC,
    "kernels._rust": """
        Backend BackendInfo Build Digest DigestAlgorithm DigestValidationError DigestViolation
        General GitStatus KernelBuilderVersion KernelDependency KernelLock KernelLocks KernelName
        KernelPaths KernelVersion Metadata NixKernelLock NixKernelLocks Provenance Version
        __version__""",
    "kernels.backends": "CANN CPU CUDA TPU XPU Backend Metal Neuron ROCm parse_backend",
    "kernels.benchmark": "Benchmark",
    "kernels.cli": "main",
    "kernels.compat": "has_torch has_tvm_ffi tomllib",
    "kernels.deps": "get_kernel_dep",
    "kernels.hf_hub": "RepoInfo",
    "kernels.importer": "LoadedKernel get_loaded_kernels",
    "kernels.install": "install_kernel install_kernel_all_variants",
    "kernels.layer": LAYER,
    "kernels.layer.device": "CUDAProperties Device ROCMProperties",
    "kernels.layer.func": """
        FuncRepository LocalFuncRepository LockedFuncRepository use_kernel_func_from_hub""",
    "kernels.layer.kernelize": "kernelize register_kernel_mapping use_kernel_mapping",
    "kernels.layer.layer": """
        KernelizeFallback LayerRepository LocalLayerRepository LockedLayerRepository
        replace_kernel_forward_from_hub use_kernel_forward_from_hub use_kernelized_func""",
    "kernels.layer.mode": "Mode",
    "kernels.load": "get_kernel get_local_kernel get_locked_kernel has_kernel load_kernel",
    "kernels.locking": "write_egg_lockfile",
    "kernels.python_deps": "validate_dependencies validate_variant_dependencies",
    "kernels.resolver": "LocalKernel RemoteKernel Resolver",
    "kernels.status": "Redirect",
    "kernels.utils": """
        get_kernel get_local_kernel has_kernel install_kernel install_kernel_all_variants
        load_kernel""",
    "kernels.variants": """
        Arch ArchVariant Noarch NoarchVariant Torch TorchNoarch TorchStableAbi TvmFfi
        VariantAccepted VariantRejected get_kernel_variants get_variants_local parse_variant
        resolve_variant resolve_variants variants_trace_str""",
    "kernels.verify": "DEFAULT_POLICIES GitHubWorkflowPolicy VerificationResult verify_variant",
}
"""Module -> what Hugging Face's has there, but for what docs/compatibility.md leaves out."""


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module, names in NAMES.items() for name in names.split()],
)
def test_module_offers_the_name(module: str, name: str) -> None:
    offered = importlib.import_module(module)
    assert getattr(offered, name) is not None
    assert name in offered.__all__


def test_all_of_the_package_can_be_imported_and_listed() -> None:
    names: dict[str, object] = {}
    exec("from kernels import *", names)
    assert set(kernels.__all__) <= names.keys()
    assert set(kernels.__all__) <= set(dir(kernels))
    assert kernels.__version__ == kernelmill.API_VERSION


def test_unknown_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'kernels' has no attribute 'get_colonel'"):
        kernels.get_colonel  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'get_colonel' from 'kernels'"):
        exec("from kernels import get_colonel")


def test_type_checkers_see_the_same_homes_as_python() -> None:
    """The table that serves names at run time, and the imports that only type checkers read."""
    tree = ast.parse(Path(kernels.__file__).read_text(encoding="utf-8"))
    (block,) = (it for it in tree.body if isinstance(it, ast.If))
    imports = {
        name.name: it.module
        for it in block.body
        if isinstance(it, ast.ImportFrom)
        for name in it.names
    }
    assert imports == kernels._HOME_OF
    assert {*imports, "__version__"} == set(kernels.__all__)


def test_whatever_takes_a_kernel_comes_through_the_one_gate() -> None:
    """S3: every such function is one of ``api``, each of which test_gate.py tries."""
    functions = {name: getattr(kernels, name) for name in kernels.__all__ if name.islower()}
    named = {
        name
        for name, function in functions.items()
        if callable(function)
        and {"repo_id", "repo_path"} & set(inspect.signature(function).parameters)
    }
    assert len(named) > 6
    for name in named - {"get_kernel_variants"}:  # which loads nothing, and gives other classes
        assert functions[name] is getattr(api, name)
    assert named <= set(api.__all__)


def test_submodules_are_attributes_without_being_imported() -> None:
    script = "import kernels; print(kernels.layer.Mode.TRAINING, kernels.compat.has_tvm_ffi)"
    assert run(script).startswith("Mode.TRAINING ")


def test_function_stays_a_function_when_the_module_of_its_name_is_imported() -> None:
    script = "import kernels.layer.kernelize, kernels.layer as l; print(callable(l.kernelize))"
    assert run(script) == "True\n"


def test_import_of_kernels_imports_nothing_heavy() -> None:
    """A program that only asks for the version pays nothing for all the rest."""
    script = (
        "import sys; before = set(sys.modules); import kernels; print(kernels.__version__)\n"
        "print(sorted(it for it in sys.modules if it not in before and 'kernel' in it))\n"
        "print({'typing', 're', 'dataclasses', 'packaging'} & (set(sys.modules) - before))"
    )
    assert run(script, "-S", "-E") == (
        f"{kernelmill.API_VERSION}\n['kernelmill', 'kernels']\nset()\n"
    )


def test_layers_can_be_imported_without_torch() -> None:
    script = (
        "import sys, kernels.layer, kernels._rust, kernels.variants, kernels.verify\n"
        "print({'torch', 'huggingface_hub', 'sigstore', 'cryptography'} & set(sys.modules))"
    )
    assert run(script) == "set()\n"


def run(script: str, *options: str) -> str:
    source = str(Path(kernels.__file__).parent.parent)
    script = f"import sys; sys.path.insert(0, {source!r}); {script}"
    command = [sys.executable, *options, "-c", script]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
