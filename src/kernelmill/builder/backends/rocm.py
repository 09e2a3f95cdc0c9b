"""Builds for AMD GPUs: device code for the architectures named, linked for one ROCm's ABI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError
from kernelmill.builder.hip.stub import SONAMES
from kernelmill.builder.matrix import load_matrix
from kernelmill.spec.backend import Backend, normalise_gfx
from kernelmill.spec.errors import InvalidName
from kernelmill.spec.variant import Compute

if TYPE_CHECKING:
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.manifest import Kernel

BACKEND = Backend.ROCM
DEFINES = ("ROCM_KERNEL", "USE_ROCM", "__HIP_PLATFORM_AMD__")
DEVICE_SUFFIXES = frozenset({".hip", ".cu"})


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


def _rocm(compute: Compute) -> tuple[int, int]:
    return compute.version or load_matrix().default_rocm
