"""Run workloads: verify each, warm up, and time it."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kernelmill.runtime.benchmark.script import workloads_of
from kernelmill.runtime.benchmark.timing import Timing, summarise
from kernelmill.spec.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from kernelmill.runtime.benchmark.case import Benchmark
    from kernelmill.runtime.benchmark.device import BenchmarkDevice

TOLERANCE: Final = 1e-2
"""Largest difference from the reference, absolute: what existing scripts expect."""


class VerificationFailed(KernelError, RuntimeError):
    """A workload computed something else than its reference."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """How workloads are run, and where."""

    device: BenchmarkDevice
    iterations: int = 100
    warmup: int = 10
    clock: Callable[[], float] = time.perf_counter
    """Seconds."""

    def run(self, case: type[Benchmark], kernel: ModuleType) -> Iterator[tuple[str, Timing]]:
        """Yield ``<class>.<workload>`` and its timing, one after the other.

        Raises:
            VerificationFailed: a workload is wrong; nothing is timed then.
        """
        for workload in workloads_of(case):
            yield f"{case.__name__}.{workload}", self._run_one(case(), workload, kernel)

    def _run_one(self, instance: Benchmark, workload: str, kernel: ModuleType) -> Timing:
        instance.kernel, instance.device = kernel, self.device.name
        if instance.seed is not None:
            self.device.seed(instance.seed)
            random.seed(instance.seed)
        getattr(instance, f"setup_{workload}", instance.setup)()
        run = getattr(instance, f"benchmark_{workload}")
        reference = getattr(instance, f"verify_{workload}", None)
        reference_ms = reference and self._verify(instance, workload, run, reference)
        self._repeat(run, self.warmup)
        timing = summarise(self._repeat(run, self.iterations))
        return timing if reference_ms is None else timing.verified_against(reference_ms)

    def _verify(
        self,
        instance: Benchmark,
        workload: str,
        run: Callable[[], object],
        reference: Callable[[], Any],
    ) -> float:
        """Return how long the reference took, if the workload agrees with it."""
        self._repeat(run, 1)
        self._repeat(reference, self.warmup)
        wants: list[Any] = []
        (elapsed_ms,) = self._repeat(lambda: wants.append(reference()), 1)
        if problem := self._difference(instance.out, wants[0]):
            raise VerificationFailed(
                f"Verification failed for {workload}: {problem}",
                where=type(instance).__name__,
                hint="the kernel, or the script's verify method, is wrong",
            )
        return elapsed_ms

    def _difference(self, got: Any, wants: Any) -> str:  # noqa: ANN401 - torch is not imported here
        torch = self.device.torch
        if not (torch.is_tensor(got) and torch.is_tensor(wants)):
            return "self.out and what verify returns have to be tensors"
        if got.shape != wants.shape:
            return f"self.out is {list(got.shape)}, the reference {list(wants.shape)}"
        wants = wants.to(device=got.device, dtype=got.dtype)
        if torch.allclose(got, wants, atol=TOLERANCE):
            return ""
        return f"largest difference {(got.double() - wants.double()).abs().max().item():.3g}"

    def _repeat(self, run: Callable[[], object], times: int) -> list[float]:
        """Return what each of several runs took, in milliseconds, until the device was done."""
        elapsed_ms = []
        for _ in range(times):
            start = self.clock()
            run()
            self.device.synchronize()
            elapsed_ms.append(1e3 * (self.clock() - start))
        return elapsed_ms
