"""The CMake side of a generated project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.hip.project import recipe_files
from kernelmill.builder.render.template import read_template, render_template
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.plan import BuildPlan

_EVERY_PROJECT = ("abi_stubs.cmake", "kernel.cmake")
_OF_FRAMEWORK = {
    "torch": ("torch.cmake", "torch_facts.py"),
    "tvm_ffi": ("tvm_ffi.cmake", "tvm_ffi_facts.py"),
}

_SCRIPTS = {Backend.CUDA: ("cuda_facts.py",), Backend.METAL: ("metallib_to_header.py",)}


def framework_of(plan: BuildPlan) -> str:
    """Return the framework as CMake files are called: ``torch`` or ``tvm_ffi``."""
    return "tvm_ffi" if plan.variant.framework.kind == "tvm-ffi" else "torch"


def cmake_lists(plans: Sequence[BuildPlan], *, root: str) -> str:
    """Return ``CMakeLists.txt``: one branch per backend."""
    major, minor = plans[0].framework_version
    return render_template(
        "project/CMakeLists.txt.j2",
        {
            "name": plans[0].manifest.general.name,
            "plans": plans,
            "root": root,
            "framework": framework_of(plans[0]),
            "version": f"{major}.{minor}",
        },
    )


def cmake_modules(plans: Sequence[BuildPlan]) -> dict[str, str]:
    """Return the files of ``cmake/`` that ``plans`` need."""
    own = [*_EVERY_PROJECT, *_OF_FRAMEWORK[framework_of(plans[0])]]
    own += [name for plan in plans for name in _modules_of(plan.backend)]
    files = {f"cmake/{name}": read_template(f"project/cmake/{name}") for name in own}
    return files | (recipe_files() if any(plan.backend is Backend.ROCM for plan in plans) else {})


def _modules_of(backend: Backend) -> tuple[str, ...]:
    return (f"{backend}.cmake", *_SCRIPTS.get(backend, ()))
