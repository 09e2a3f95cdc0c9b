"""Builds for AMD GPUs: device code for the architectures named, linked for one ROCm's ABI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError
from kernelmill.builder.matrix import load_matrix
from kernelmill.spec.backend import Backend, normalise_gfx
from kernelmill.spec.errors import InvalidName
from kernelmill.spec.variant import Compute

if TYPE_CHECKING:
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.manifest import Kernel

BACKEND = Backend.ROCM
DEFINES = ("ROCM_KERNEL", "USE_ROCM", "__HIP_PLATFORM_AMD__")
CMAKE_MODULES = ("hip_cross.cmake",)
DEVICE_SUFFIXES = frozenset({".hip", ".cu"})


def compute(asked: tuple[int, int] | None) -> Compute:
    """Return the ROCm that was asked for, or the matrix's usual one."""
    return Compute(backend=BACKEND, version=asked or load_matrix().default_rocm)


def runtime_soname(compute: Compute) -> str:
    """Return the HIP runtime's soname in this ROCm."""
    return load_matrix().rocm_soname(compute.version or load_matrix().default_rocm)


def objection(toolchain: Toolchain) -> str:
    """Say that there is no HIP compiler, when there is none."""
    return toolchain.hip.problem


def pick_archs(kernel: Kernel, toolchain: Toolchain, where: str) -> tuple[str, ...]:
    """Return the architectures that the manifest names, else those of ``PYTORCH_ROCM_ARCH``."""
    archs = kernel.rocm_archs or toolchain.default_archs
    if not archs:
        raise PlanError(
            "no device architecture is named",
            where=where,
            hint='write rocm-archs = ["gfx942"], or set PYTORCH_ROCM_ARCH=gfx942',
        )
    for arch in archs:
        _check_arch(arch, where, toolchain)
    return tuple(dict.fromkeys(archs))


def is_cross(toolchain: Toolchain) -> bool:
    """Say whether the installed torch is not a ROCm build."""
    return not toolchain.torch.hip


def _check_arch(arch: str, where: str, toolchain: Toolchain) -> None:
    try:
        name = normalise_gfx(arch)
    except InvalidName as error:
        raise PlanError(error.problem, where=where, hint=error.hint) from error
    known = toolchain.hip.archs
    if name not in known:
        raise PlanError(
            f"the compiler cannot target {arch!r}",
            where=where,
            hint=f"it knows {', '.join(sorted(known))}",
        )
