"""What ``build.toml`` says, whatever its edition."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.spec.backend import Backend
    from kernelmill.spec.dependencies import KernelDependency
    from kernelmill.spec.names import KernelName, RepoId


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTarget:
    """``[general.hub]``: where uploads go."""

    repo_id: RepoId | None = None
    """Owner and name of the repository on the Hub."""
    branch: str | None = None
    """Branch for the builds; by default ``v<version>``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendGeneral:
    """``[general.neuron]``, ``[general.tpu]``, ``[general.xpu]``: what one backend adds."""

    python_depends: tuple[str, ...] = ()
    """Python packages needed on this backend only."""
    kernel_depends: tuple[KernelDependency, ...] = ()
    """Kernels needed on this backend only; not for tpu."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaGeneral:
    """``[general.cuda]``: what CUDA builds add."""

    minver: tuple[int, int] | None = None
    """Oldest CUDA version to build for."""
    maxver: tuple[int, int] | None = None
    """Newest CUDA version to build for."""
    python_depends: tuple[str, ...] = ()
    """Python packages needed on CUDA only."""
    kernel_depends: tuple[KernelDependency, ...] = ()
    """Kernels needed on CUDA only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class General:
    """``[general]``: the kernel as a whole."""

    name: KernelName
    """Lower-case letters, digits and single dashes; with underscores it is the Python name."""
    version: int
    """Major version; builds go to the branch ``v<version>``."""
    license: str
    """SPDX expression."""
    upstream: str | None = None
    """Git URL of the project that the kernel comes from."""
    source: str | None = None
    """Git URL of this kernel's sources."""
    backends: tuple[Backend, ...]
    """What to build for; at least one."""
    python_depends: tuple[str, ...] = ()
    """Python packages needed on every backend."""
    kernel_depends: tuple[KernelDependency, ...] = ()
    """Kernels needed on every backend: ``{repo-id, version}`` or ``{repo-id, revision}``."""
    hub: HubTarget = field(default_factory=HubTarget)
    cuda: CudaGeneral | None = None
    neuron: BackendGeneral | None = None
    tpu: BackendGeneral | None = None
    xpu: BackendGeneral | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Torch:
    """``[torch]``: a compiled extension for PyTorch."""

    include: tuple[str, ...] = ()
    """Include directories of the binding."""
    minver: tuple[int, int] | None = None
    """Oldest PyTorch to build for."""
    maxver: tuple[int, int] | None = None
    """Newest PyTorch to build for."""
    pyext: tuple[str, ...] = ()
    """Extensions of data files to ship beside the Python files, without the dot."""
    src: tuple[str, ...]
    """Sources of the binding; at least one."""
    stable_abi: Mapping[Backend, tuple[int, int]] = field(default_factory=dict)
    """Build against PyTorch's stable ABI of this version: one for all, or one per backend."""
    cxx_flags: tuple[str, ...] = ()
    """Extra flags for the C++ compiler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchNoarch:
    """``[torch-noarch]``: Python only, such as Triton kernels."""

    pyext: tuple[str, ...] = ()
    """Extensions of data files to ship beside the Python files, without the dot."""
    cuda_capabilities: tuple[str, ...] = ()
    """CUDA capabilities that the kernel supports."""
    rocm_archs: tuple[str, ...] = ()
    """AMD architectures that the kernel supports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TvmFfi:
    """``[tvm-ffi]``: a compiled extension for TVM's FFI, independent of PyTorch."""

    include: tuple[str, ...] = ()
    """Include directories of the binding."""
    pyext: tuple[str, ...] = ()
    """Extensions of data files to ship beside the Python files, without the dot."""
    src: tuple[str, ...]
    """Sources of the binding; at least one."""
    cxx_flags: tuple[str, ...] = ()
    """Extra flags for the C++ compiler."""


Framework = Torch | TorchNoarch | TvmFfi


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """``[kernel.NAME]``: sources compiled for one backend."""

    name: str
    backend: Backend
    """One of cpu, cuda, metal, rocm, xpu."""
    depends: tuple[str, ...]
    """Libraries to compile against: torch, cutlass_4_0, ..."""
    src: tuple[str, ...]
    """Sources and headers; at least one."""
    include: tuple[str, ...] = ()
    """Include directories."""
    cxx_flags: tuple[str, ...] = ()
    """Extra flags for the C++ compiler."""
    cuda_capabilities: tuple[str, ...] = ()
    """CUDA capabilities to compile for, such as ``9.0a`` or ``12.0+PTX``; by default, all usual."""
    cuda_flags: tuple[str, ...] = ()
    """Extra flags for nvcc."""
    cuda_minver: tuple[int, int] | None = None
    """Oldest CUDA version that can compile this kernel."""
    rocm_archs: tuple[str, ...] = ()
    """AMD architectures to compile for, such as ``gfx942``; by default the builder's choice."""
    hip_flags: tuple[str, ...] = ()
    """Extra flags for the HIP compiler."""
    sycl_flags: tuple[str, ...] = ()
    """Extra flags for the SYCL compiler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A whole ``build.toml``."""

    edition: int
    general: General
    framework: Framework
    kernels: tuple[Kernel, ...]

    def kernels_for(self, backend: Backend) -> tuple[Kernel, ...]:
        """Return the kernels that are compiled for ``backend``, in the file's order."""
        return tuple(it for it in self.kernels if it.backend == backend)
