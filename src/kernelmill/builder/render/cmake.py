"""The CMake side of a generated project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.hip.project import recipe_files
from kernelmill.builder.render.template import read_template, render_template
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.plan import BuildPlan

_EVERY_PROJECT = ("abi_stubs.cmake", "kernel.cmake", "torch.cmake", "torch_facts.py")


def cmake_lists(plans: Sequence[BuildPlan], *, root: str) -> str:
    """Return ``CMakeLists.txt``: one branch per backend."""
    major, minor = plans[0].torch_version
    return render_template(
        "project/CMakeLists.txt.j2",
        {
            "name": plans[0].manifest.general.name,
            "plans": plans,
            "root": root,
            "torch_version": f"{major}.{minor}",
        },
    )


def cmake_modules(plans: Sequence[BuildPlan]) -> dict[str, str]:
    """Return the files of ``cmake/`` that ``plans`` need."""
    own = [*_EVERY_PROJECT, *(f"{plan.backend}.cmake" for plan in plans)]
    files = {f"cmake/{name}": read_template(f"project/cmake/{name}") for name in own}
    return files | (recipe_files() if any(plan.backend is Backend.ROCM for plan in plans) else {})
