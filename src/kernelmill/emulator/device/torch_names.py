"""The names that ``torch._C`` lacks in a CPU build, so that ``torch.cuda`` takes its normal path.

They were found by looking in torch 2.13 for uses of ``torch._C`` names that a CPU build does not
have. What a GPU build offers beyond them (graphs, IPC, NCCL, pools) raises.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Final, NoReturn

import torch

from kernelmill.emulator.hip_runtime.properties import DEVICE, TARGET

if TYPE_CHECKING:
    from kernelmill.emulator.device.native_library import NativeLibrary

CUDA_TYPE: Final = 1
"""``c10::DeviceType::CUDA``."""
Function = Callable[..., object]


class DeviceProperties(SimpleNamespace):
    """What ``torch.cuda.get_device_properties`` returns."""

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name={self.name!r}, major={self.major}, minor={self.minor},"
            f" gcnArchName={self.gcnArchName!r}, total_memory={self.total_memory >> 20}MB,"
            f" multi_processor_count={self.multi_processor_count})"
        )


def device_properties(_device: int = 0) -> DeviceProperties:
    """Return the emulated device's properties under the names of a ROCm build."""
    return DeviceProperties(
        name=DEVICE.name,
        gcnArchName=DEVICE.arch,
        major=DEVICE.version[0],
        minor=DEVICE.version[1],
        total_memory=DEVICE.memory_bytes,
        multi_processor_count=DEVICE.compute_units,
        max_threads_per_multi_processor=DEVICE.max_lanes_per_unit,
        max_threads_per_block=DEVICE.max_workgroup_size,
        regs_per_multiprocessor=DEVICE.registers_per_block,
        shared_memory_per_block=DEVICE.lds_bytes,
        shared_memory_per_block_optin=DEVICE.lds_bytes,
        shared_memory_per_multiprocessor=DEVICE.lds_bytes,
        L2_cache_size=DEVICE.l2_bytes,
        clock_rate=DEVICE.clock_khz,
        memory_clock_rate=DEVICE.memory_clock_khz,
        memory_bus_width=DEVICE.memory_bus_bits,
        warp_size=DEVICE.wavefront_size,
        is_integrated=0,
        is_multi_gpu_board=0,
        uuid=uuid.uuid5(uuid.NAMESPACE_DNS, DEVICE.name),
        pci_bus_id=0,
        pci_device_id=0,
        pci_domain_id=0,
    )


class StreamBase(torch.Stream):
    """The base of ``torch.cuda.Stream``. A stream's id is its handle."""

    def __new__(
        cls,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int = 0,
        device_type: int = CUDA_TYPE,
        stream_ptr: int | None = None,
    ) -> StreamBase:
        """Make a new stream, or name one that there is."""
        named = stream_ptr if stream_id is None else stream_id
        if named is None:
            return super().__new__(cls, device="cuda", priority=priority)
        return super().__new__(
            cls, stream_id=named, device_index=device_index, device_type=device_type
        )

    @property
    def cuda_stream(self) -> int:
        """Return the ``hipStream_t``."""
        return self.stream_id

    @property
    def priority(self) -> int:
        """Return the one priority that there is."""
        return 0

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the lowest and the highest priority."""
        return 0, 0


class EventBase(torch.Event):
    """The base of ``torch.cuda.Event``."""

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,  # noqa: ARG004 - torch passes it; there are no graphs
    ) -> EventBase:
        """Make an event that nothing has recorded yet."""
        if interprocess:
            refuse("events shared between processes")
        event = super().__new__(cls, "cuda", enable_timing=enable_timing, blocking=blocking)
        event.recorded_s = None
        return event

    recorded_s: float | None
    """By the monotonic clock; ``None`` before."""

    def record(self, stream: torch.Stream | None = None) -> None:
        """Note the time: all work before is done."""
        super().record(stream)
        self.recorded_s = time.perf_counter()

    def elapsed_time(self, end: torch.Event) -> float:
        """Return the milliseconds from this event to ``end``: of emulation, not of a GPU."""
        # The C++ one takes no subclass of torch.Event.
        end_s = end.recorded_s if isinstance(end, EventBase) else None
        if self.recorded_s is None or end_s is None:
            raise RuntimeError("both events must be recorded before their distance is taken")
        return (end_s - self.recorded_s) * 1e3

    @property
    def cuda_event(self) -> int:
        """Return the ``hipEvent_t``."""
        return self.event_id


def refuse(what: str) -> NoReturn:
    """Say what the emulated device does not have.

    Raises:
        NotImplementedError: always, as torch does for what a device lacks.
    """
    raise NotImplementedError(f"the emulated device has no {what}")


def _refusing(what: str) -> Function:
    def call(*_: object, **__: object) -> NoReturn:
        refuse(what)

    return call


class _Graph:
    """Stands for ``torch.cuda.CUDAGraph``."""

    def __new__(cls, *_: object, **__: object) -> _Graph:
        refuse("graphs")


def _constant(value: object) -> Function:
    return lambda *_, **__: value


def _stream(device: int) -> tuple[int, int, int]:
    stream = torch._C._accelerator_getStream(max(device, 0))
    return stream.stream_id, 0, CUDA_TYPE


def _set_stream(*, stream_id: int, device_index: int, device_type: int) -> None:
    stream = torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
    torch._C._accelerator_setStream(stream)


def _device_setter() -> Function:
    """Return a function of its own: torch.compile keeps a table by function."""

    def set_device(device: int) -> int:
        if device > 0:
            raise RuntimeError(f"HIP error: invalid device ordinal {device}: one is emulated")
        return 0

    return set_device


def _memory_stats(native: NativeLibrary) -> Function:
    def stats(_device: int) -> dict[str, object]:
        current, peak = native.memory_bytes()
        used = {"current": current, "peak": peak, "allocated": peak, "freed": peak - current}
        return {
            name: {pool: dict(used) for pool in ("all", "small_pool", "large_pool")}
            for name in (
                "allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes",
            )
        }  # fmt: skip

    return stats


def _cudart() -> ModuleType:
    module = ModuleType("torch._C._cudart")
    success = SimpleNamespace(success=0)
    free = _constant((DEVICE.memory_bytes, DEVICE.memory_bytes))
    vars(module).update(
        cudaError=success,
        cudaMemGetInfo=free,
        cudaGetErrorString=_constant("no error"),
        cudaProfilerStart=_constant(0),
        cudaProfilerStop=_constant(0),
        cudaHostRegister=_constant(0),
        cudaHostUnregister=_constant(0),
        cudaStreamCreate=_refusing("raw streams"),
        cudaStreamDestroy=_refusing("raw streams"),
    )
    return module


def names(native: NativeLibrary, *, initialise: Callable[[], None]) -> dict[str, object]:
    """Return name -> value of what ``torch._C`` must have before ``torch.cuda`` is imported.

    Args:
        native: the compiled part.
        initialise: called when torch first uses the device.
    """
    return {
        **_device_names(initialise),
        **_stream_names(),
        **_memory_names(native),
        **{name: _refusing(what) for name, what in REFUSED.items()},
    }


def _device_names(initialise: Callable[[], None]) -> dict[str, object]:
    cudart = _cudart()
    sys.modules[cudart.__name__] = cudart
    return {
        "_has_cuda": True,
        "_cudart": cudart,
        "_CudaDeviceProperties": DeviceProperties,
        "_cuda_init": initialise,
        "_cuda_getDeviceCount": _constant(1),
        "_cuda_getDevice": _constant(0),
        "_cuda_setDevice": _device_setter(),
        "_cuda_exchangeDevice": _device_setter(),
        "_cuda_maybeExchangeDevice": _device_setter(),
        "_cuda_canDeviceAccessPeer": _constant(False),
        "_cuda_isInBadFork": _constant(False),
        "_cuda_hasPrimaryContext": _constant(True),
        "_cuda_getArchFlags": _constant(TARGET),
        "_cuda_getCompiledVersion": _constant(0),
        "_cuda_synchronize": lambda: torch._C._accelerator_synchronizeDevice(0),
        "_cuda_sleep": _constant(None),
        "_cuda_set_sync_debug_mode": _constant(None),
        "_cuda_get_sync_debug_mode": _constant(0),
        "_cuda_clearCublasWorkspaces": _constant(None),
        "_StaticCudaLauncher": _Graph,
        "_FastCudaLauncher": _Graph,
    }


def _stream_names() -> dict[str, object]:
    return {
        "_CudaStreamBase": StreamBase,
        "_CudaEventBase": EventBase,
        "_CUDAGraph": _Graph,
        "_graph_pool_handle": _refusing("graphs"),
        "_cuda_isCurrentStreamCapturing": _constant(False),
        "_cuda_getCurrentStream": _stream,
        "_cuda_getCurrentRawStream": lambda device: _stream(device)[0],
        "_cuda_getDefaultStream": _constant((0, 0, CUDA_TYPE)),
        "_cuda_getStreamFromExternal": lambda handle, _device: (handle, 0, CUDA_TYPE),
        "_cuda_setStream": _set_stream,
    }


def _memory_names(native: NativeLibrary) -> dict[str, object]:
    return {
        "_cuda_emptyCache": _constant(None),
        "_cuda_ipc_collect": _constant(None),
        "_cuda_memoryStats": _memory_stats(native),
        "_cuda_hostMemoryStats": _constant({}),
        "_cuda_resetPeakMemoryStats": lambda _device: native.reset_peak(),
        "_cuda_resetAccumulatedMemoryStats": _constant(None),
        "_cuda_resetPeakHostMemoryStats": _constant(None),
        "_cuda_resetAccumulatedHostMemoryStats": _constant(None),
        "_cuda_memorySnapshot": _constant({"segments": [], "device_traces": []}),
        "_cuda_getAllocatorBackend": _constant("native"),
        "_cuda_cudaCachingAllocator_is_enabled": _constant(True),
        "_cuda_cudaCachingAllocator_enable": _constant(None),
        "_cuda_CUDAAllocator_AllocatorState": type("AllocatorState", (), {}),
        "_cuda_setMemoryFraction": _constant(None),
        "_cuda_getMemoryFraction": _constant(1.0),
        "_cuda_lock_mutex": _constant(None),
        "_cuda_unlock_mutex": _constant(None),
        "_set_cached_tensors_enabled": _constant(None),
    }


REFUSED: Final = {
    "_cuda_getCurrentBlasHandle": "BLAS handle",
    "_cuda_getCurrentSolverHandle": "solver handle",
    "_cuda_jiterator_compile_and_launch_kernel": "jiterator",
    "_cuda_record_memory_history": "memory history",
    "_cuda_customAllocator": "pluggable allocators",
    "_cuda_cudaHostAllocator": "host allocator",
    "_cuda_cudaCachingAllocator_raw_alloc": "raw allocations",
    "_cuda_cudaCachingAllocator_raw_delete": "raw allocations",
    "_broadcast": "second device",
    "_scatter": "second device",
    "_gather": "second device",
}
