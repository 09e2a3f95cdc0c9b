"""Builds for the CPU, against the installed torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.spec.backend import Backend
from kernelmill.spec.variant import Compute

if TYPE_CHECKING:
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.manifest import Kernel

BACKEND: Backend = Backend.CPU
DEFINES: tuple[str, ...] = ("CPU_KERNEL",)
DEVICE_SUFFIXES: frozenset[str] = frozenset()
ARCHS_KEY = "src"


def installed_version(_toolchain: Toolchain) -> tuple[int, int] | None:
    """Return nothing: there is no SDK."""
    return None


def is_cross(_toolchain: Toolchain, _archs: tuple[str, ...], _compute: Compute) -> bool:
    """Return that it is for the installed torch."""
    return False


def compute(_asked: tuple[int, int] | None) -> Compute:
    """Return the CPU: it has no runtime version."""
    return Compute(backend=BACKEND, version=None)


def settings(_compute: Compute) -> dict[str, str]:
    """Return nothing: the common part of a project is enough."""
    return {}


def runtime_soname(_compute: Compute) -> str:
    """Return nothing: there is no GPU runtime."""
    return ""


def translated(_kernels: tuple[Kernel, ...], _binding: tuple[str, ...]) -> tuple[str, ...]:
    """Return nothing: C++ is compiled as it is."""
    return ()


def require_tools(_toolchain: Toolchain) -> None:
    """Do nothing: a C++ compiler is enough, and every build needs one."""


def tool_settings(_plan: BuildPlan, _toolchain: Toolchain) -> dict[str, str]:
    """Return nothing: every build has a C++ compiler."""
    return {}


def pick_archs(
    _kernel: Kernel, _toolchain: Toolchain, _compute: Compute, _where: str
) -> tuple[str, ...]:
    """Return nothing: there is no device."""
    return ()


def device_flags(_kernel: Kernel) -> tuple[str, ...]:
    """Return nothing: there is no device."""
    return ()


def choose_kernels(
    _tree: KernelTree, kernels: tuple[Kernel, ...], _compute: Compute
) -> tuple[Kernel, ...]:
    """Return all: there are no versions."""
    return kernels


def require_ready(_plan: BuildPlan, _tree: KernelTree, _toolchain: Toolchain) -> None:
    """Do nothing: what a plan needs was there when it was made."""


def inputs(_plan: BuildPlan, _toolchain: Toolchain) -> dict[str, str]:
    """Return nothing: no SDK is used besides torch's."""
    return {}
