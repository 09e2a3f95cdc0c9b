"""What a machine is, as far as choosing a build needs to know. Filled in by a probe."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidBackend
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from kernelmill.spec.version import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator."""

    arch: str
    """``gfx942``, or a CUDA compute capability such as ``9.0``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The facts about a machine and its Python environment."""

    cpu: str
    """``x86_64`` or ``aarch64``."""
    os: str
    """``linux``, ``darwin`` or ``windows``."""
    backend: Backend
    backend_version: tuple[int, int] | None = None
    """Of the CUDA, ROCm, XPU or CANN runtime that PyTorch was built for."""
    torch: Release | None = None
    cxx11_abi: bool | None = None
    """PyTorch's C++ string ABI; ``None`` outside Linux, where there is only one."""
    tvm_ffi: tuple[int, int] | None = None
    devices: tuple[Device, ...] = ()
    glibc: tuple[int, int] | None = None
    is_free_threaded: bool = False
    python: tuple[int, int]
    macos: tuple[int, int] | None = None

    def with_backend(self, backend: Backend) -> Host:
        """Return this host as seen by a caller who asked for ``backend``.

        Every host can run CPU kernels; apart from that only the detected backend is there.

        Raises:
            InvalidBackend: the host does not have it; also a ``ValueError``.
        """
        if backend == self.backend:
            return self
        if backend == Backend.CPU:
            return replace(self, backend=Backend.CPU, backend_version=None, devices=())
        supported = sorted({Backend.CPU.value, self.backend.value})
        raise InvalidBackend(
            f"Invalid backend '{backend}', system supported backends: {', '.join(supported)}",
            hint=f"leave the backend out to use {self.backend}, or ask for cpu",
        )
