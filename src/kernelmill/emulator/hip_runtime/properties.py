"""What the emulated device says of itself. The numbers are those of AMD's MI300X data sheet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProperties:
    """One GPU, as ``hipGetDeviceProperties`` and ``torch.cuda`` describe it."""

    name: str
    arch: str
    """With its features, as ROCm writes it."""
    version: tuple[int, int]
    """What torch calls the capability."""
    memory_bytes: int
    compute_units: int
    wavefront_size: int
    max_workgroup_size: int
    max_lanes_per_unit: int
    registers_per_block: int
    lds_bytes: int
    l2_bytes: int
    clock_khz: int
    memory_clock_khz: int
    memory_bus_bits: int


DEVICE: Final = DeviceProperties(
    name="AMD Instinct MI300X (emulated)",
    arch="gfx942:sramecc+:xnack-",
    version=(9, 4),
    memory_bytes=192 << 30,
    compute_units=304,
    wavefront_size=64,
    max_workgroup_size=1024,
    max_lanes_per_unit=2048,
    registers_per_block=65536,
    lds_bytes=64 << 10,
    l2_bytes=4 << 20,
    clock_khz=2_100_000,
    memory_clock_khz=1_300_000,
    memory_bus_bits=8192,
)
TARGET: Final = DEVICE.arch.partition(":")[0]
