"""Compute backends, and the names of the devices behind them."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, Literal

from kernelmill.spec.errors import InvalidBackend, InvalidName
from kernelmill.spec.reader import allowed_hint

# Processor names of the LLVM AMDGPU backend: major, minor and stepping (the last two one hex
# digit each), or a generic target; then the features that the HIP runtime appends.
# https://llvm.org/docs/AMDGPUUsage.html#processors
_GFX: Final = re.compile(
    r"(?P<name>gfx(?:[0-9]{1,2}[0-9a-f]{2}|[0-9]{1,2}(?:-[0-9a-f]){0,2}-generic))"
    r"(?::(?:sramecc|xnack)[+-])*"
)
_SM: Final = re.compile(r"(?:sm_(?P<digits>[0-9]{2,3})|(?P<major>[0-9]+)\.(?P<minor>[0-9]+))[af]?")


class Backend(StrEnum):
    """What a kernel is compiled for."""

    CANN = "cann"
    CPU = "cpu"
    CUDA = "cuda"
    METAL = "metal"
    NEURON = "neuron"
    ROCM = "rocm"
    TPU = "tpu"
    XPU = "xpu"

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> Backend:
        """Read a backend's name in any case; the error offers the nearest one."""
        names = [it.value for it in cls]
        if text.lower() in names:
            return cls(text.lower())
        hint = allowed_hint(text, names)
        raise InvalidBackend(f"unknown backend {text!r}", where=where, hint=hint)


def normalise_gfx(name: str) -> str:
    """Strip feature flags: ``gfx942:sramecc+:xnack-`` -> ``gfx942``.

    Raises:
        InvalidName: not a processor name, such as the marketing name of a device.
    """
    if not (match := _GFX.fullmatch(name.strip())):
        raise InvalidName(
            f"unknown arch {name!r}", hint="AMD architectures are written gfx942, gfx90a, gfx1100"
        )
    return match["name"]


def fp8_format(arch: str) -> Literal["e4m3fnuz", "e4m3fn"] | None:
    """Tell which 8-bit E4M3 format a device's matrix units read; ``None`` when they read none.

    FNUZ (no infinity, no negative zero, largest 240) is CDNA 3 only; all later AMD devices and
    NVIDIA from compute capability 8.9 read OCP's FN (largest 448).

    Args:
        arch: ``gfx942``, with or without feature flags, or ``9.0`` or ``sm_90``.

    Raises:
        InvalidName: nothing is known of such a device.

    Source: HIP documentation, "Low precision floating point types", table of supported devices;
    NVIDIA PTX ISA, ``mma`` with ``.e4m3``.
    """
    if gfx := _GFX.fullmatch(arch):
        name = gfx["name"]
        if name in {"gfx940", "gfx941", "gfx942"}:
            return "e4m3fnuz"
        return "e4m3fn" if name == "gfx950" or name.startswith("gfx12") else None
    if not (sm := _SM.fullmatch(arch)):
        hint = "devices are written gfx942, gfx90a, 9.0 or sm_90"
        raise InvalidName(f"unknown arch {arch!r}", hint=hint)
    digits = sm["digits"]
    capability = divmod(int(digits), 10) if digits else (int(sm["major"]), int(sm["minor"]))
    return "e4m3fn" if capability >= (8, 9) else None
