"""The devices that a mapping's entries are for. Pure values; the machine is not asked."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.layers.errors import BadDevice, NotAnInteger
from kernelmill.spec.backend import normalise_gfx

if TYPE_CHECKING:
    from collections.abc import Iterable

DEVICE_TYPES: Final = ("cpu", "cuda", "mps", "neuron", "npu", "rocm", "tpu", "xpu")


@dataclass(frozen=True)
class CUDAProperties:
    """A range of CUDA compute capabilities, written 75 for 7.5 and 90 for 9.0; both ends count."""

    min_capability: int
    max_capability: int

    def __post_init__(self) -> None:
        _check_range(self.min_capability, self.max_capability)

    @property
    def archs(self) -> frozenset[str]:
        """No names: a range says all."""
        return frozenset()


@dataclass(frozen=True, init=False)
class ROCMProperties:
    """AMD devices, by name or by a range of what PyTorch calls their capability.

    PyTorch gives gfx906, gfx908, gfx90a, gfx942 and gfx950 nearly the same capability (9.0, 9.4,
    9.5): names tell them apart.
    """

    min_capability: int
    max_capability: int
    archs: frozenset[str]
    """Such as ``gfx942``; empty for any."""

    def __init__(
        self,
        min_capability: int = 0,
        max_capability: int = sys.maxsize,
        *,
        archs: Iterable[str] = (),
    ) -> None:
        """Take a range, names, or both; then a device has to fit both.

        Args:
            min_capability: major * 10 + minor.
            max_capability: major * 10 + minor; itself included.
            archs: names such as ``gfx942``; feature flags are ignored.
        """
        _check_range(min_capability, max_capability)
        names = (archs,) if isinstance(archs, str) else archs
        object.__setattr__(self, "min_capability", min_capability)
        object.__setattr__(self, "max_capability", max_capability)
        object.__setattr__(self, "archs", frozenset(map(normalise_gfx, names)))

    def __repr__(self) -> str:
        names = f", archs={sorted(self.archs)}" if self.archs else ""
        low, high = self.min_capability, self.max_capability
        return f"ROCMProperties(min_capability={low}, max_capability={high}{names})"


Properties = CUDAProperties | ROCMProperties


@dataclass(frozen=True)
class Device:
    """A type of device, and perhaps which ones of it."""

    type: str
    """Such as ``cpu``, ``cuda`` or ``rocm``."""
    properties: Properties | None = None

    def __post_init__(self) -> None:
        for kind, device_type in ((CUDAProperties, "cuda"), (ROCMProperties, "rocm")):
            if isinstance(self.properties, kind) and self.type != device_type:
                raise BadDevice(
                    f"{kind.__name__} is only supported for '{device_type}' devices.",
                    where=f"Device({self.type!r})",
                    hint=f"write Device({device_type!r}, {kind.__name__}(...))",
                )
        if not isinstance(self.properties, Properties | None):
            raise BadDevice(
                f"{self.properties!r} are not properties of a device",
                where=f"Device({self.type!r})",
                hint="pass CUDAProperties, ROCMProperties or nothing",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One GPU of this machine, as far as ranges and names ask."""

    index: int
    capability: int
    """major * 10 + minor."""
    arch: str
    """``gfx942``; for CUDA ``9.0``."""

    def __str__(self) -> str:
        return f"{self.index} ({self.arch})"


def matches(properties: Properties | None, accelerator: Accelerator | None) -> bool:
    """Tell whether an entry is for this GPU. One without properties is for any, even for none."""
    low, high, archs = bounds(properties)
    if not archs and (low, high) == (0, sys.maxsize):
        return True
    if accelerator is None:
        return False
    is_named = not archs or accelerator.arch in archs
    return is_named and low <= accelerator.capability <= high


def bounds(properties: Properties | None) -> tuple[int, int, frozenset[str]]:
    """Return lowest capability, highest capability, and names."""
    if properties is None:
        return 0, sys.maxsize, frozenset()
    return properties.min_capability, properties.max_capability, properties.archs


def specificity(properties: Properties | None) -> tuple[bool, int, int, int, tuple[str, ...]]:
    """Return a key that sorts the narrowest properties first; no two different ones are equal.

    Names are narrower than any range; then the shorter range, and of two as long, the later one.
    """
    low, high, archs = bounds(properties)
    return not archs, len(archs), high - low, -low, tuple(sorted(archs))


def check_device_type(device_type: str) -> str:
    """Return the type of device to kernelize for, if there is one of this name."""
    if device_type not in DEVICE_TYPES:
        raise BadDevice(
            f"Unsupported device type '{device_type}'. "
            f"Supported device types are: {', '.join(DEVICE_TYPES)}"
        )
    return device_type


def _check_range(low: int, high: int) -> None:
    for name, value in (("min_capability", low), ("max_capability", high)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise NotAnInteger(
                f"{name} must be a whole number, got {value!r}", hint="write 75 for 7.5"
            )
    if low > high:
        raise BadDevice(f"min_capability ({low}) must be <= max_capability ({high})")
