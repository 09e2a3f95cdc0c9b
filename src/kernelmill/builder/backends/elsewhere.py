"""Backends whose toolchains this version does not drive: only their projects are generated.

Kernels for Metal and XPU are compiled where Apple's or Intel's tools are, with the generated
project and plain CMake; those for Neuron, TPU and CANN are Python.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelmill.builder.plan import compiled_id, plan_build
from kernelmill.spec.backend import Backend
from kernelmill.spec.variant import Compute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.plan import BuildPlan, Component
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.manifest import Kernel

_PROJECT = "`kernel-builder create-pyproject` writes the CMake project to build there"
_PYTHON = "kernels that are Python only are built here: [torch-noarch]"
_ONEAPI = "$CMPLR_ROOT/bin, $ONEAPI_ROOT/compiler/latest/bin, PATH or /opt/intel/oneapi"
NEEDS: Mapping[Backend, tuple[str, str]] = {
    Backend.XPU: (f"icpx of Intel's oneAPI, in {_ONEAPI}", _PROJECT),
    Backend.METAL: ("Xcode's metal compiler, where `xcrun -find metal` finds it", _PROJECT),
    Backend.NEURON: ("neuronx-cc of AWS's Neuron SDK, in PATH or /opt/aws/neuron/bin", _PYTHON),
    Backend.TPU: ("the Python package libtpu", _PYTHON),
    Backend.CANN: ("bisheng of Huawei's CANN, in $ASCEND_HOME_PATH or /usr/local/Ascend", _PYTHON),
}
"""Backend -> what compiles for it and where that would be; what can be done here."""

XPU_VERSION = (2025, 3)
"""The oneAPI release that a project for XPU is named after."""


@dataclass(slots=True, kw_only=True, eq=False)  # not frozen: stands in for a backend's module
class ElsewhereRules:
    """What a generated project has to know of such a backend."""

    BACKEND: Backend
    DEFINES: tuple[str, ...]
    DEVICE_SUFFIXES: frozenset[str]
    ARCHS_KEY: str = "src"
    version: tuple[int, int] | None = None

    def compute(self, _asked: tuple[int, int] | None, /) -> Compute:
        """Return the backend with the usual version of its runtime."""
        return Compute(backend=self.BACKEND, version=self.version)

    def installed_version(self, _toolchain: Toolchain, /) -> None:
        """Return nothing: the runtime is on the machine that builds."""

    def settings(self, _compute: Compute, /) -> Mapping[str, str]:
        """Return nothing: the backend's CMake file is enough."""
        return {}

    def runtime_soname(self, _compute: Compute, /) -> str:
        """Return nothing: nothing is checked here."""
        return ""

    def require_tools(self, _toolchain: Toolchain, /) -> None:
        """Do nothing: the tools are needed where the project is built."""

    def is_cross(
        self, _toolchain: Toolchain, _archs: tuple[str, ...], _compute: Compute, /
    ) -> bool:
        """Return that it is for the torch that is installed where it is built."""
        return False

    def translated(
        self, _kernels: tuple[Kernel, ...], _binding: tuple[str, ...], /
    ) -> tuple[str, ...]:
        """Return nothing: sources are compiled as they are."""
        return ()

    def tool_settings(self, _plan: BuildPlan, _toolchain: Toolchain, /) -> Mapping[str, str]:
        """Return nothing: the project finds its tools."""
        return {}

    def device_flags(self, _kernel: Kernel, /) -> tuple[str, ...]:
        """Return nothing: see ``plan_elsewhere``."""
        return ()

    def choose_kernels(
        self, _tree: KernelTree, kernels: tuple[Kernel, ...], _compute: Compute, /
    ) -> tuple[Kernel, ...]:
        """Return all: they are for every version."""
        return kernels

    def require_ready(self, _plan: BuildPlan, _tree: KernelTree, _toolchain: Toolchain, /) -> None:
        """Do nothing: the project is built elsewhere."""

    def inputs(self, _plan: BuildPlan, _toolchain: Toolchain, /) -> Mapping[str, str]:
        """Return nothing: no SDK is used here."""
        return {}

    def pick_archs(
        self, _kernel: Kernel, _toolchain: Toolchain, _compute: Compute, _where: str, /
    ) -> tuple[str, ...]:
        """Return nothing: such kernels are compiled for all devices at once."""
        return ()


RULES: Mapping[Backend, ElsewhereRules] = {
    Backend.METAL: ElsewhereRules(
        BACKEND=Backend.METAL,
        DEFINES=("METAL_KERNEL",),
        DEVICE_SUFFIXES=frozenset({".metal", ".mm"}),
    ),
    Backend.XPU: ElsewhereRules(
        BACKEND=Backend.XPU,
        DEFINES=("XPU_KERNEL", "USE_XPU"),
        DEVICE_SUFFIXES=frozenset({".sycl"}),
        version=XPU_VERSION,
    ),
}


def plan_elsewhere(tree: KernelTree, toolchain: Toolchain, rules: ElsewhereRules) -> BuildPlan:
    """Plan a project that another machine builds.

    Raises:
        PlanError: the kernel is not for this backend or this torch.
    """
    plan = plan_build(tree, toolchain, rules)
    variant = plan.variant
    if rules.BACKEND is Backend.METAL:
        framework = replace(variant.framework, cxx11_abi=None)  # macOS has one string type
        variant = variant._replace(framework=framework, cpu="aarch64", os="darwin")
    kernels = tree.manifest.kernels_for(rules.BACKEND)
    flags = {kernel.name: kernel.sycl_flags for kernel in kernels}
    return replace(
        plan,
        variant=variant,
        unique_id=compiled_id(tree, rules.BACKEND, variant),
        kernels=tuple(_with_flags(it, flags[it.name]) for it in plan.kernels),
    )


def _with_flags(component: Component, flags: tuple[str, ...]) -> Component:
    # SYCL has one compiler for host and device.
    return replace(component, cxx_flags=(*component.cxx_flags, *flags), device_flags=flags)
