"""Builds for AMD GPUs: device code for the architectures named, linked for one ROCm's ABI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError
from kernelmill.builder.hip.stub import SONAMES
from kernelmill.builder.hip.toolchain import choose, require
from kernelmill.builder.matrix import load_matrix
from kernelmill.spec.backend import Backend, normalise_gfx
from kernelmill.spec.errors import InvalidName
from kernelmill.spec.variant import Compute

if TYPE_CHECKING:
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.manifest import Kernel

BACKEND: Backend = Backend.ROCM
DEFINES: tuple[str, ...] = ("ROCM_KERNEL", "USE_ROCM", "__HIP_PLATFORM_AMD__")
DEVICE_SUFFIXES = frozenset({".hip", ".cu"})
ARCHS_KEY = "rocm-archs"
CUDA_SUFFIXES = (".cu", ".cuh")


def installed_version(toolchain: Toolchain) -> tuple[int, int] | None:
    """Return the version of the ROCm SDK that compiles here; None where a bare clang does."""
    chosen = choose(toolchain.hip)
    return chosen.rocm_version if chosen else None


def is_cross(toolchain: Toolchain, archs: tuple[str, ...], compute: Compute) -> bool:
    """Return whether our HIP headers and a stub of the runtime take the SDK's place."""
    return _native_root(toolchain, archs, compute) is None


def compute(asked: tuple[int, int] | None) -> Compute:
    """Return the ROCm that was asked for, or the matrix's usual one."""
    return Compute(backend=BACKEND, version=asked or load_matrix().default_rocm)


def settings(compute: Compute) -> dict[str, str]:
    """Return the ROCm version that device code and stub are made for."""
    major, minor = _rocm(compute)
    return {"HIP_CROSS_ROCM_VERSION": f"{major}.{minor}"}


def runtime_soname(compute: Compute) -> str:
    """Return the HIP runtime's soname in this ROCm.

    Raises:
        PlanError: no such ROCm is known.
    """
    major, minor = _rocm(compute)
    if major not in SONAMES:
        known = " and ".join(f"{it}.x" for it in sorted(SONAMES))
        raise PlanError(f"unknown ROCm {major}.{minor}", hint=f"known: {known}")
    return SONAMES[major]


def translated(kernels: tuple[Kernel, ...], binding: tuple[str, ...]) -> tuple[str, ...]:
    """Return every source of the build when some are CUDA: they share headers."""
    sources = tuple(dict.fromkeys((*binding, *(path for it in kernels for path in it.src))))
    return sources if any(path.endswith(CUDA_SUFFIXES) for path in sources) else ()


def require_tools(toolchain: Toolchain) -> None:
    """Raise ``HipToolchainError`` when no compiler here makes code for AMD GPUs."""
    require(toolchain.hip)


def tool_settings(plan: BuildPlan, toolchain: Toolchain) -> dict[str, str]:
    """Return the first compiler that can target all architectures, and its SDK if that is used."""
    archs, compute = plan.archs or (), plan.variant.compute
    compiler = ";".join(require(toolchain.hip, archs).command)
    root = _native_root(toolchain, archs, compute)
    return {"HIP_CROSS_COMPILER": compiler, **({"HIP_CROSS_ROCM_ROOT": root} if root else {})}


def pick_archs(
    kernel: Kernel, toolchain: Toolchain, _compute: Compute, where: str
) -> tuple[str, ...]:
    """Return the architectures that the manifest names, else those of the toolchain.

    Raises:
        PlanError: none is named, or one is not spelt like any.
        UnsupportedArchError: no compiler here can target all of them.
    """
    archs = kernel.rocm_archs or toolchain.default_archs
    if not archs:
        raise PlanError(
            "no device architecture is named",
            where=where,
            hint='write rocm-archs = ["gfx942"], or set PYTORCH_ROCM_ARCH=gfx942',
        )
    for arch in archs:
        _check_spelling(arch, where)
    require(toolchain.hip, archs, where=where)
    return tuple(dict.fromkeys(archs))


def device_flags(kernel: Kernel) -> tuple[str, ...]:
    """Return ``hip-flags``."""
    return kernel.hip_flags


def choose_kernels(
    _tree: KernelTree, kernels: tuple[Kernel, ...], _compute: Compute
) -> tuple[Kernel, ...]:
    """Return all: they are for every ROCm."""
    return kernels


def require_ready(_plan: BuildPlan, _tree: KernelTree, _toolchain: Toolchain) -> None:
    """Do nothing: what a plan needs was there when it was made."""


def inputs(_plan: BuildPlan, _toolchain: Toolchain) -> dict[str, str]:
    """Return nothing: no SDK is used besides torch's."""
    return {}


def _native_root(toolchain: Toolchain, archs: tuple[str, ...], compute: Compute) -> str | None:
    """Return the SDK whose headers and libraries a build uses: one of the very ROCm it is for."""
    chosen = choose(toolchain.hip, archs)
    fits = chosen is not None and chosen.rocm_version == _rocm(compute)
    return chosen.rocm_root if chosen and fits else None


def _check_spelling(arch: str, where: str) -> None:
    try:
        normalise_gfx(arch)
    except InvalidName as error:
        raise PlanError(error.problem, where=where, hint=error.hint) from error


def _rocm(compute: Compute) -> tuple[int, int]:
    return compute.version or load_matrix().default_rocm
