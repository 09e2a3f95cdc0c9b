"""The compiled part of the emulated device, through ctypes."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from kernelmill.emulator.device.errors import DeviceError
from kernelmill.emulator.hip_runtime.changes import MemoryChange, MemoryChangeKind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kernelmill.emulator.hip_runtime.attach import HipRuntime


class RuntimeFunctions(ctypes.Structure):
    """``struct Runtime`` of ``native/streams.h``: addresses of C functions of the stand-in."""

    _fields_ = (
        ("take_fault", ctypes.c_void_p),
        ("error_text", ctypes.c_void_p),
        ("get_properties", ctypes.c_void_p),
    )


class NativeLibrary:
    """What ``native/device.cpp`` exports."""

    def __init__(self, library: Path, *, torch_library: Path, aliases: Iterable[Path]) -> None:
        """Load torch's own library and the device's. Nothing changes before ``start``.

        Args:
            library: the device's.
            torch_library: torch's.
            aliases: libraries that only a ROCm build has; empty, under the right names. What they
                are asked for is found in ``library``, which is global.

        NOTE: torch must not be imported yet: it looks for devices once, when it starts.
        """
        try:
            ctypes.CDLL(str(torch_library), mode=ctypes.RTLD_GLOBAL)
            self._lib = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            self._aliases = [ctypes.CDLL(str(alias)) for alias in aliases]
        except OSError as error:
            raise DeviceError(
                f"the emulated device cannot be loaded: {error}", where=str(library)
            ) from error
        self._lib.emulated_device_changes.restype = ctypes.c_size_t
        self._lib.emulated_device_start.restype = ctypes.c_char_p
        self._lib.emulated_device_bytes.restype = ctypes.c_size_t
        self._lib.emulated_device_peak_bytes.restype = ctypes.c_size_t

    def start(self, runtime: HipRuntime) -> None:
        """Make torch see the device, and the faults of the runtime."""
        functions = RuntimeFunctions(
            take_fault=runtime.function("emulator_take_fault"),
            error_text=runtime.function("hipGetErrorString"),
            get_properties=runtime.function("hipGetDevicePropertiesR0600"),
        )
        problem = self._lib.emulated_device_start(ctypes.byref(functions))
        if problem:
            raise DeviceError(f"torch refuses the emulated device: {problem.decode()}")

    def changes(self) -> list[MemoryChange]:
        """Return what happened to the device memory since the last call, in order."""
        numbers = ctypes.POINTER(ctypes.c_uint64)()
        count = self._lib.emulated_device_changes(ctypes.byref(numbers))
        flat = numbers[: 3 * count]
        return [
            MemoryChange(kind=MemoryChangeKind(kind), address=address, size_bytes=size_bytes)
            for kind, address, size_bytes in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        ]

    def resize_storage(self, storage: int, size_bytes: int) -> None:
        """Give the storage at the address ``storage`` other memory; what fits is kept."""
        self._lib.emulated_device_resize(ctypes.c_void_p(storage), ctypes.c_size_t(size_bytes))

    def memory_bytes(self) -> tuple[int, int]:
        """Return the bytes of device memory in use, and the most there were."""
        return self._lib.emulated_device_bytes(), self._lib.emulated_device_peak_bytes()

    def reset_peak(self) -> None:
        """Start counting the most bytes anew."""
        self._lib.emulated_device_reset_peak()
