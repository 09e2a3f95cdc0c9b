"""Builds for NVIDIA GPUs: device code for the capabilities named, by the toolkit of one CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.cuda.archs import check_archs, default_archs
from kernelmill.builder.cuda.errors import CudaToolchainError
from kernelmill.builder.cuda.libraries import pick_libraries
from kernelmill.builder.cuda.toolchain import choose, require
from kernelmill.builder.errors import PlanError
from kernelmill.builder.matrix import dotted, load_matrix
from kernelmill.spec.backend import Backend
from kernelmill.spec.variant import Compute
from kernelmill.spec.version import parse_major_minor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.spec.manifest import Kernel

BACKEND: Backend = Backend.CUDA
DEFINES: tuple[str, ...] = ("CUDA_KERNEL", "USE_CUDA")
DEVICE_SUFFIXES = frozenset({".cu"})
ARCHS_KEY = "cuda-capabilities"


def installed_version(toolchain: Toolchain) -> tuple[int, int] | None:
    """Return the CUDA of the installed torch, else that of the first toolkit."""
    if toolchain.torch and toolchain.torch.cuda:
        return parse_major_minor(toolchain.torch.cuda, where="torch.version.cuda")
    chosen = choose(toolchain.cuda)
    return chosen.release if chosen else None


def is_cross(toolchain: Toolchain, _archs: tuple[str, ...], _compute: Compute) -> bool:
    """Return whether the installed torch is for something else than CUDA."""
    return not (toolchain.torch and toolchain.torch.cuda)


def compute(asked: tuple[int, int] | None) -> Compute:
    """Return the CUDA that was asked for, or the matrix's usual one."""
    return Compute(backend=BACKEND, version=asked or load_matrix().default_cuda)


def settings(compute: Compute) -> dict[str, str]:
    """Return the CUDA version that the project is for."""
    return {"KERNEL_CUDA_VERSION": dotted(_cuda(compute))}


def runtime_soname(compute: Compute) -> str:
    """Return the CUDA runtime's soname: its major version is its ABI."""
    return f"libcudart.so.{_cuda(compute)[0]}"


def translated(_kernels: tuple[Kernel, ...], _binding: tuple[str, ...]) -> tuple[str, ...]:
    """Return nothing: CUDA is compiled as it is."""
    return ()


def device_flags(kernel: Kernel) -> tuple[str, ...]:
    """Return ``cuda-flags``."""
    return kernel.cuda_flags


def choose_kernels(
    tree: KernelTree, kernels: tuple[Kernel, ...], compute: Compute
) -> tuple[Kernel, ...]:
    """Leave out the kernels that this CUDA is too old for.

    Raises:
        PlanError: the manifest does not want this CUDA, or no kernel is left.
    """
    version = _cuda(compute)
    _check_range(tree, version)
    chosen = tuple(it for it in kernels if version >= (it.cuda_minver or version))
    if not chosen:
        oldest = min(it.cuda_minver for it in kernels if it.cuda_minver)
        raise PlanError(
            f"none of the kernel's sources is for CUDA {dotted(version)}",
            where=tree.where("kernel", kernels[0].name, "cuda-minver"),
            hint=f"build for CUDA {dotted(oldest)} or later, and write that as minver",
        )
    return chosen


def _check_range(tree: KernelTree, version: tuple[int, int]) -> None:
    cuda = tree.manifest.general.cuda
    minver, maxver = (cuda.minver, cuda.maxver) if cuda else (None, None)
    for key, bound, fits, word in (
        ("minver", minver, version >= (minver or version), "from"),
        ("maxver", maxver, version <= (maxver or version), "up to"),
    ):
        if bound and not fits:
            raise PlanError(
                f"the kernel wants CUDA {word} {dotted(bound)}, not {dotted(version)}",
                where=tree.where("general", "cuda", key),
                hint="name a variant that fits: `kernel-builder list-variants`",
            )


def require_tools(_toolchain: Toolchain) -> None:
    """Do nothing: which toolkit it takes is known with the plan; see ``require_ready``."""


def require_ready(plan: BuildPlan, tree: KernelTree, toolchain: Toolchain) -> None:
    """Stop before anything is started when this machine cannot do what ``plan`` says.

    Raises:
        SdkMissing: there is no toolkit of the plan's CUDA, or a library is not here.
        CudaToolchainError: it does not take the C++ compiler.
        CudaArchError: its compiler cannot target an architecture.
        PlanError: PyTorch's headers and libraries are those of a build without this CUDA.
    """
    toolkit = require(toolchain.cuda, _cuda(plan.variant.compute))
    for kernel in plan.kernels:
        where = tree.where("kernel", kernel.name, ARCHS_KEY)
        for fault in check_archs(kernel.archs, toolkit, where=where):
            raise fault
    compiled = {it.name for it in plan.kernels}
    for it in tree.manifest.kernels_for(BACKEND):
        if it.name in compiled:
            where = tree.where("kernel", it.name, "depends")
            pick_libraries(it.depends, toolkit.libraries, where=where)
    cxx = toolchain.cxx.chosen
    if cxx and (objection := toolkit.objection_to(cxx)):
        raise CudaToolchainError(objection, hint="set CXX to a compiler that it takes")
    _check_torch(plan)


def _check_torch(plan: BuildPlan) -> None:
    torch, major = plan.torch, _cuda(plan.variant.compute)[0]
    if torch is None or plan.variant.framework.kind != "torch":
        return
    if torch.cuda.partition(".")[0] != str(major):
        built = f"for CUDA {torch.cuda}" if torch.cuda else "without CUDA"
        raise PlanError(
            f"{torch} is a build {built}: this kernel needs the headers of one for CUDA {major}",
            hint="name a variant: `kernel-builder list-variants` has them, and the SDKs to fetch",
        )


def inputs(plan: BuildPlan, toolchain: Toolchain) -> Mapping[str, str]:
    """Return name -> sha256 of the toolkit and the libraries, where they are SDKs."""
    toolkit = require(toolchain.cuda, _cuda(plan.variant.compute))
    libraries = pick_libraries(plan.depends, toolkit.libraries)
    return {**toolkit.inputs, **{k: v for it in libraries for k, v in it.inputs.items()}}


def tool_settings(plan: BuildPlan, toolchain: Toolchain) -> dict[str, str]:
    """Return the toolkit, the libraries, and how many architectures of a source go at once."""
    toolkit = require(toolchain.cuda, _cuda(plan.variant.compute))
    libraries = pick_libraries(plan.depends, toolkit.libraries)
    return {
        "KERNEL_CUDA_ROOT": toolkit.root,
        "KERNEL_CUDA_COMPILER": toolkit.compiler,
        "KERNEL_CUDA_INCLUDE": ";".join(toolkit.include),
        "KERNEL_CUDA_LIBRARIES": ";".join(path for it in libraries for path in it.include),
        "KERNEL_CUDA_RUNTIME": toolkit.runtime,
        "KERNEL_CUDA_THREADS": str(max(1, plan.jobs // max(1, plan.device_source_count))),
    }


def pick_archs(
    kernel: Kernel, _toolchain: Toolchain, compute: Compute, _where: str
) -> tuple[str, ...]:
    """Return the capabilities that the manifest names, else the usual ones of this CUDA."""
    return tuple(dict.fromkeys(kernel.cuda_capabilities or default_archs(_cuda(compute))))


def _cuda(compute: Compute) -> tuple[int, int]:
    return compute.version or load_matrix().default_cuda
