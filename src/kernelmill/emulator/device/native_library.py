"""The compiled part of the emulated device, through ctypes."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from kernelmill.emulator.device.errors import DeviceError

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

    def changes(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Return addresses freed, and (address, size in bytes) allocated, since the last call."""
        gone = ctypes.POINTER(ctypes.c_uint64)()
        come = ctypes.POINTER(ctypes.c_uint64)()
        gone_count, come_count = ctypes.c_size_t(), ctypes.c_size_t()
        self._lib.emulated_device_changes(
            ctypes.byref(gone), ctypes.byref(gone_count),
            ctypes.byref(come), ctypes.byref(come_count),
        )  # fmt: skip
        added = come[: 2 * come_count.value]
        return gone[: gone_count.value], list(zip(added[::2], added[1::2], strict=True))

    def memory_bytes(self) -> tuple[int, int]:
        """Return the bytes of device memory in use, and the most there were."""
        return self._lib.emulated_device_bytes(), self._lib.emulated_device_peak_bytes()

    def reset_peak(self) -> None:
        """Start counting the most bytes anew."""
        self._lib.emulated_device_reset_peak()
