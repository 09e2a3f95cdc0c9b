"""Backends with the version of their runtime, as the original's variants hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, runtime_checkable

from packaging.version import Version

from kernelmill.runtime.probe import probe_host
from kernelmill.spec import backend as spec
from kernelmill.spec.errors import InvalidBackend, InvalidVariant
from kernelmill.spec.variant import ArchVariant, Compute, parse_variant

if TYPE_CHECKING:
    from collections.abc import Mapping


@runtime_checkable
class Backend(Protocol):
    """What every class of this module has."""

    @property
    def name(self) -> str:
        """The backend's name, such as ``cuda``."""

    @property
    def variant_str(self) -> str:
        """How folders of builds spell it, such as ``cu128``."""


class _Accelerator:
    """One backend. Subclasses name it."""

    BACKEND: ClassVar[spec.Backend]

    @property
    def name(self) -> str:
        """The backend's name."""
        return self.BACKEND.value

    @property
    def variant_str(self) -> str:
        """How folders of builds spell it."""
        return str(self.to_spec())

    def to_spec(self) -> Compute:
        """Return the same backend as ``spec`` has it."""
        return Compute(backend=self.BACKEND, version=None)

    @classmethod
    def parse(cls, s: str) -> Self:
        """Read the spelling of a folder of builds.

        Raises:
            InvalidBackend: it is none, or another backend's; a ``ValueError``.
        """
        found = parse_backend(s)
        if not isinstance(found, cls):
            raise InvalidBackend(f"Invalid {cls.__name__} variant string: {s!r}")
        return found


class _Versioned(_Accelerator):
    version: Version

    def to_spec(self) -> Compute:
        """Return the same backend as ``spec`` has it."""
        return Compute(backend=self.BACKEND, version=(self.version.major, self.version.minor))


@dataclass(frozen=True)
class CPU(_Accelerator):
    """No accelerator."""

    BACKEND = spec.Backend.CPU


@dataclass(frozen=True)
class Metal(_Accelerator):
    """Apple's GPUs."""

    BACKEND = spec.Backend.METAL


@dataclass(frozen=True)
class Neuron(_Accelerator):
    """AWS Neuron."""

    BACKEND = spec.Backend.NEURON


@dataclass(frozen=True)
class TPU(_Accelerator):
    """Google's TPUs."""

    BACKEND = spec.Backend.TPU


@dataclass(frozen=True)
class CUDA(_Versioned):
    """NVIDIA's GPUs."""

    version: Version
    BACKEND = spec.Backend.CUDA


@dataclass(frozen=True)
class ROCm(_Versioned):
    """AMD's GPUs."""

    version: Version
    BACKEND = spec.Backend.ROCM


@dataclass(frozen=True)
class XPU(_Versioned):
    """Intel's GPUs."""

    version: Version
    BACKEND = spec.Backend.XPU


@dataclass(frozen=True)
class CANN(_Versioned):
    """Huawei's NPUs."""

    version: Version
    BACKEND = spec.Backend.CANN


Accelerator = CPU | Metal | Neuron | TPU | CUDA | ROCm | XPU | CANN
_PLAIN: Mapping[spec.Backend, CPU | Metal | Neuron | TPU] = {
    it.BACKEND: it for it in (CPU(), Metal(), Neuron(), TPU())
}
_VERSIONED: Mapping[spec.Backend, type[CUDA | ROCm | XPU | CANN]] = {
    it.BACKEND: it for it in (CUDA, ROCm, XPU, CANN)
}


def accelerator_of(compute: Compute) -> Accelerator:
    """Return a backend of ``spec`` in this shape."""
    if compute.backend in _PLAIN:
        return _PLAIN[compute.backend]
    version = ".".join(map(str, compute.version or (0, 0)))
    return _VERSIONED[compute.backend](Version(version))


def parse_backend(s: str) -> Accelerator:
    """Read the spelling of a folder of builds: ``cpu``, ``cu128``, ``rocm71``.

    Raises:
        InvalidBackend: it is none; a ``ValueError``.
    """
    try:
        variant = parse_variant(f"torch29-{s}-x86_64-linux")
    except InvalidVariant:
        variant = None
    if not isinstance(variant, ArchVariant) or variant.framework.cxx11_abi is not None:
        raise InvalidBackend(
            f"Unknown backend variant string: {s!r}", hint="such as cpu, cu128, rocm71"
        )
    return accelerator_of(variant.compute)


def detect_backend() -> Accelerator:
    """Return the backend of the installed PyTorch."""
    return select_backend(None)


def select_backend(backend: str | None) -> Accelerator:
    """Return the backend of that name; the one of the installed PyTorch when there is no name.

    Raises:
        InvalidBackend: this machine does not have it; a ``ValueError``.
    """
    host = probe_host()
    if backend is not None:
        host = host.with_backend(spec.Backend.parse(backend, where="backend"))
    return accelerator_of(Compute(backend=host.backend, version=host.backend_version))
