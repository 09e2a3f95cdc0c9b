"""The device that a benchmark runs on: its name in PyTorch, how to wait for it, what it is."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from types import ModuleType

    from kernelmill.spec.host import Host

NAMES: Final = {
    Backend.CANN: "npu",
    Backend.CPU: "cpu",
    Backend.CUDA: "cuda",
    Backend.METAL: "mps",
    Backend.NEURON: "neuron",
    Backend.ROCM: "cuda",  # PyTorch calls AMD's devices that, too
    Backend.TPU: "tpu",
    Backend.XPU: "xpu",
}
LABELS: Final = {Backend.METAL: "MPS", Backend.ROCM: "ROCm", Backend.CANN: "NPU"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the numbers depend on."""

    gpu: str
    backend: str
    pytorch_version: str
    os: str
    cpu: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkDevice:
    """Where the tensors of a benchmark are. The CPU's calls nothing of any accelerator."""

    backend: Backend
    torch: ModuleType

    @property
    def name(self) -> str:
        """What PyTorch calls it."""
        return NAMES[self.backend]

    def synchronize(self) -> None:
        """Wait until all that was started is done."""
        # Modules of accelerators that come as packages of their own may lack the function.
        wait = None if self.backend is Backend.CPU else getattr(self._module(), "synchronize", None)
        if wait is not None:
            wait()

    def seed(self, seed: int) -> None:
        """Make random numbers the same on every run, on the CPU and on this device."""
        self.torch.manual_seed(seed)  # PyTorch hands the seed on to every device it has

    def describe(self, host: Host) -> Machine:
        """Return the facts about the machine that a result is reported with."""
        return Machine(
            gpu=self._gpu(),
            backend=_backend_text(host),
            pytorch_version=str(self.torch.__version__),
            os=f"{platform.system()} {platform.release()}",
            cpu=_cpu(),
        )

    def _module(self) -> object:
        return getattr(self.torch, self.name, None)

    def _gpu(self) -> str:
        if self.backend is Backend.CPU:
            return "N/A"
        if self.backend is Backend.METAL:
            return "Apple MPS"
        name_of = getattr(self._module(), "get_device_name", None)
        return "N/A" if name_of is None else str(name_of(0))


def _backend_text(host: Host) -> str:
    label = LABELS.get(host.backend, host.backend.value.upper())
    version = ".".join(map(str, host.backend_version or ()))
    return f"{label} {version}".strip()


def _cpu() -> str:
    """Return the processor's name, as the kernel tells it on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine() or "Unknown"
