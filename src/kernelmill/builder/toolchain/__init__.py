"""Everything on this machine that takes part in a build."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cuda.probe import probe_cuda
from kernelmill.builder.cuda.toolchain import require as require_cuda
from kernelmill.builder.errors import ToolchainError
from kernelmill.builder.hip.probe import probe_hip_compilers
from kernelmill.builder.hip.toolchain import require as require_hip
from kernelmill.builder.sdk.store import open_store
from kernelmill.builder.toolchain.gpu import probe_local_archs
from kernelmill.builder.toolchain.host import probe_capacity, probe_cpu
from kernelmill.builder.toolchain.programs import (
    Candidate,
    Program,
    probe_ccache,
    probe_cmake,
    probe_cxx,
    probe_ninja,
)
from kernelmill.builder.toolchain.torch import TorchTarget, probe_torch
from kernelmill.builder.toolchain.tvm_ffi import TvmFfiInstall, probe_tvm_ffi
from kernelmill.spec.backend import Backend
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.cuda.toolchain import Trial as CudaTrial
    from kernelmill.builder.hip.toolchain import Trial
    from kernelmill.builder.jobs import Capacity

_HINTS = {
    "cmake": "pip install cmake",
    "ninja": "pip install ninja",
    "C++ compiler": "install g++ (Debian: apt-get install g++), or set CXX to a compiler",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """What was found; tools that are missing are in it too, with what was tried."""

    torch: TorchTarget | None
    """The installed one."""
    torch_problem: str = ""
    """Why there is none."""
    python: str
    """The interpreter that builds run, and whose headers they use."""
    cpu: str
    cxx: Program
    cmake: Program
    ninja: Program
    ccache: Program
    hip: tuple[Trial, ...]
    """Compilers for AMD GPUs, best first."""
    capacity: Capacity
    default_archs: tuple[str, ...]
    """Device architectures for kernels that name none: ``PYTORCH_ROCM_ARCH``, else those here."""
    tvm_ffi: TvmFfiInstall | None = None
    """The installed apache-tvm-ffi."""
    cuda: tuple[CudaTrial, ...] = ()
    """CUDA toolkits, best first."""


def probe_toolchain(env: Mapping[str, str], *, python: str, wants_cuda: bool = True) -> Toolchain:
    """Look at this machine.

    Args:
        env: the environment: ``CXX``, ``MAX_JOBS`` and ``PYTORCH_ROCM_ARCH`` are read.
        python: the interpreter whose torch is built against.
        wants_cuda: whether to look for CUDA toolkits, which takes a twentieth of a second.

    Raises:
        ToolchainError: nothing can be built on this system at all.
    """
    torch, problem = _installed_torch(python)
    archs = env.get("PYTORCH_ROCM_ARCH", "").replace(";", " ").replace(",", " ").split()
    return Toolchain(
        torch=torch,
        torch_problem=problem,
        python=python,
        cpu=probe_cpu(),
        cxx=probe_cxx(env),
        cmake=probe_cmake(),
        ninja=probe_ninja(),
        ccache=probe_ccache(),
        hip=probe_hip_compilers(environ=env, package_folders=sys.path),
        capacity=probe_capacity(env),
        default_archs=tuple(sorted(set(archs))) or probe_local_archs(),
        tvm_ffi=probe_tvm_ffi(python),
        cuda=probe_cuda(env, packages=sys.path, store=open_store(env)) if wants_cuda else (),
    )


def _installed_torch(python: str) -> tuple[TorchTarget | None, str]:
    try:
        return probe_torch(python), ""
    except ToolchainError as error:
        return None, error.problem


def require_torch(toolchain: Toolchain) -> TorchTarget:
    """Return the installed torch.

    Raises:
        ToolchainError: there is none.
    """
    if toolchain.torch is None:
        raise ToolchainError(
            toolchain.torch_problem or "torch is not installed",
            hint="install torch, for example with: pip install torch; or build for the headers of "
            "one, with --variant NAME",
        )
    return toolchain.torch


def require(program: Program) -> Candidate:
    """Return the program that was chosen.

    Raises:
        ToolchainError: none was; says where it was looked for.
    """
    if program.chosen is not None:
        return program.chosen
    tried = ", ".join(f"{c.path} ({c.problem})" for c in program.candidates)
    raise ToolchainError(
        f"no usable {program.name}; tried {tried or 'nothing'}", hint=_HINTS.get(program.name, "")
    )


def compiler_versions(
    toolchain: Toolchain,
    backend: Backend,
    archs: tuple[str, ...],
    version: tuple[int, int] | None = None,
) -> dict[str, str]:
    """Return role -> name and version of each compiler that a build for ``archs`` uses.

    Args:
        toolchain: what there is.
        backend: what is built for.
        archs: its device architectures.
        version: of the backend's runtime.
    """
    cxx = require(toolchain.cxx)
    versions = {"c++": f"{Path(cxx.path).name} {cxx.version}"}
    if backend is Backend.ROCM:
        versions["hip"] = require_hip(toolchain.hip, archs).version_text
    if backend is Backend.CUDA and version:
        versions["cuda"] = require_cuda(toolchain.cuda, version).version_text
    return versions
