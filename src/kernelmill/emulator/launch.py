"""Launch a kernel: batch after batch of its workgroups, each to its end."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator import abi, loading
from kernelmill.emulator.arrays import LANES
from kernelmill.emulator.batch import Batch
from kernelmill.emulator.counters import Profiler
from kernelmill.emulator.errors import LaunchError
from kernelmill.emulator.findings import Findings
from kernelmill.emulator.flops import total_operations
from kernelmill.emulator.global_shadow import GlobalShadow
from kernelmill.emulator.limits import MAX_STEPS, check_launch
from kernelmill.emulator.machine import Machine
from kernelmill.emulator.report import DispatchReport
from kernelmill.emulator.resources import resources_of
from kernelmill.emulator.sanitizer import Sanitizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelmill.binary.code_object import CodeObject, Kernel
    from kernelmill.emulator.blocks import Blocks
    from kernelmill.emulator.image import Image
    from kernelmill.emulator.memory import Memory
    from kernelmill.emulator.observer import Observer

Dimensions = tuple[int, int, int]

BATCH_BYTES: Final = 32 << 20
"""Vector registers of one batch. More would not fit the caches, less would not fill the loops."""
STACK_BYTES: Final = 4096
"""Scratch of one lane for calls that the compiler lost sight of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """One kernel launch."""

    code_object: CodeObject
    kernel: str
    grid: Dimensions
    """In workgroups."""
    block: Dimensions
    """In work-items."""
    dynamic_lds_bytes: int = 0
    arguments: tuple[bytes, ...] = ()
    """The explicit arguments in order. The hidden ones are filled in."""


def load(code_object: CodeObject, memory: Memory) -> Image:
    """Return the code object's image in ``memory``: the same one each time."""
    return loading.load(code_object, memory).image


def run_dispatch(
    dispatch: Dispatch,
    memory: Memory,
    *,
    sanitize: bool = False,
    profile: bool = False,
    max_steps: int = MAX_STEPS,
) -> DispatchReport:
    """Run a kernel to its end.

    Args:
        dispatch: what to run.
        memory: every allocation that the kernel may touch.
        sanitize: also look for what hardware would not report. Accesses outside every allocation
            are then findings: they read and write nothing.
        profile: also count bytes and LDS cycles.
        max_steps: see ``Machine``.

    Raises:
        LaunchError: the launch contradicts the kernel or the device's limits.
        UnsupportedInstruction: the kernel has an instruction that is not emulated.
        DeviceFault: the kernel did what makes a device stop.
        Stuck: waves ran for so long that they wait for something that will not happen.
    """
    started = time.perf_counter()
    kernel = find_kernel(dispatch)
    check_launch(dispatch, kernel)
    blocks = loading.load_kernel(loading.load(dispatch.code_object, memory), kernel)
    before = {block.address: block.waves for block in blocks.built}
    run = _Run(dispatch, kernel, blocks, memory, max_steps)
    findings = Findings() if sanitize else None
    profiler = Profiler(blocks.lines.find) if profile else None
    run.run(findings, profiler)
    mnemonics = _count(blocks, before)
    return DispatchReport(
        kernel=kernel.name,
        instructions=sum(mnemonics.values()),
        mnemonics=dict(sorted(mnemonics.items())),
        flops=total_operations(mnemonics).flops,
        findings=findings.all if findings else (),
        counters=profiler.counters if profiler else None,
        resources=resources_of(dispatch, kernel) if profile else None,
        seconds=time.perf_counter() - started,
    )


def find_kernel(dispatch: Dispatch) -> Kernel:
    """Return the kernel that ``dispatch`` names."""
    for kernel in dispatch.code_object.kernels:
        if kernel.name == dispatch.kernel:
            return kernel
    names = ", ".join(kernel.name for kernel in dispatch.code_object.kernels)
    raise LaunchError(f"there is no kernel {dispatch.kernel!r}", hint=f"there is: {names}")


def _count(blocks: Blocks, before: Mapping[int, int]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for block in blocks.built:
        waves = block.waves - before.get(block.address, 0)
        if waves:
            for item in block.decoded:
                counted[item.name] += waves
    return counted


@dataclass(slots=True)
class _Run:
    """One launch under way."""

    dispatch: Dispatch
    kernel: Kernel
    blocks: Blocks
    memory: Memory
    max_steps: int

    def run(self, findings: Findings | None, profiler: Profiler | None) -> None:
        shadow = GlobalShadow(self.memory)
        kernarg = self._place(abi.kernel_arguments(self.dispatch, self.kernel), "kernel arguments")
        packet = self._place(
            abi.dispatch_packet(self.dispatch, self.kernel, kernarg), "dispatch packet"
        )
        try:
            for batch in self._batches():
                abi.set_up(batch, self.dispatch, self.kernel, kernarg=kernarg, packet=packet)
                observers: list[Observer] = [] if profiler is None else [profiler]
                if findings is not None:
                    observers.append(self._sanitizer(batch, findings, shadow))
                batch.observers = tuple(observers)
                Machine(self.blocks, batch, self.kernel.code_address, self.max_steps).run()
        finally:
            self.memory.free(kernarg)
            self.memory.free(packet)

    def _place(self, content: bytes, label: str) -> int:
        """Return the address of a copy of ``content`` that device code can read."""
        address = self.memory.allocate(max(len(content), 8), label=label)
        self.memory.view(address, len(content))[:] = np.frombuffer(content, np.uint8)
        return address

    def _batches(self) -> Iterator[Batch]:
        waves = -(-prod(self.dispatch.block) // LANES)
        per_wave = self.blocks.layout.vectors * LANES * 4
        size = max(BATCH_BYTES // (per_wave * waves), 1)
        total = prod(self.dispatch.grid)
        for start in range(0, total, size):
            yield Batch(
                self.memory,
                workgroups=np.arange(start, min(start + size, total)),
                waves_per_group=waves,
                vectors=self.blocks.layout.vectors,
                lds_bytes=self.kernel.lds_bytes + self.dispatch.dynamic_lds_bytes,
                private_bytes=private_bytes(self.kernel),
                source_of=self.blocks.lines.find,
            )

    def _sanitizer(self, batch: Batch, findings: Findings, shadow: GlobalShadow) -> Sanitizer:
        return Sanitizer(
            batch,
            self.blocks.layout,
            findings,
            kernel=self.kernel.name,
            defined_scalars=abi.first_free_scalar(self.kernel),
            shadow=shadow,
            source_of=self.blocks.lines.find,
            barrier_before=self.blocks.barrier_before,
        )


def private_bytes(kernel: Kernel) -> int:
    """Return the scratch memory of one lane."""
    return kernel.private_bytes + (STACK_BYTES if kernel.uses_dynamic_stack else 0)
