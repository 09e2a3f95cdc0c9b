"""Backends, as ``kernels._rust`` names them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kernelmill.runtime.upstream.text import spell_fields
from kernelmill.spec import backend as spec
from kernelmill.spec.errors import InvalidBackend


class Backend(Enum):
    """What a kernel is compiled for. The value is the backend in ``spec``."""

    CANN = spec.Backend.CANN
    CPU = spec.Backend.CPU
    CUDA = spec.Backend.CUDA
    Metal = spec.Backend.METAL
    Neuron = spec.Backend.NEURON
    ROCm = spec.Backend.ROCM
    TPU = spec.Backend.TPU
    XPU = spec.Backend.XPU

    @staticmethod
    def from_str(s: str) -> Backend:
        """Read a backend's name, in any case.

        Raises:
            InvalidBackend: there is no such backend; a ``ValueError``.
        """
        try:
            return Backend(spec.Backend.parse(s))
        except InvalidBackend as error:
            raise InvalidBackend(f"Unknown backend: {s}", hint=error.hint) from None

    def __str__(self) -> str:
        return self.value.value

    def __repr__(self) -> str:
        return f"Backend.{self.name}"


@dataclass(frozen=True, slots=True, repr=False)
class BackendInfo:
    """The backend of a build, and the architectures that it has code for."""

    backend_type: Backend
    archs: list[str] | None = None

    def __repr__(self) -> str:
        return spell_fields("BackendInfo", backend_type=self.backend_type, archs=self.archs)
