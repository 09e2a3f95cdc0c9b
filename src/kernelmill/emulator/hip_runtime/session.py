"""What was launched on the emulated device of this process, and what is in its memory."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Protocol, assert_never

from kernelmill.emulator.errors import LaunchError
from kernelmill.emulator.hip_runtime.changes import MemoryChange, MemoryChangeKind
from kernelmill.emulator.hip_runtime.images import load_image
from kernelmill.emulator.launch import Dispatch, load
from kernelmill.emulator.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kernelmill.binary.code_object import CodeObject, Kernel


class Report(Protocol):
    """What an executor says of a launch."""

    @property
    def instructions(self) -> int:
        """Wave instructions executed."""

    @property
    def findings(self) -> Sequence[object]:
        """What the sanitizer found."""

    @property
    def profile(self) -> dict[str, object] | None:
        """What was counted, if that was asked for."""


class Executor(Protocol):
    """Runs device code. The emulator's is ``kernelmill.emulator.launch.run_dispatch``."""

    def __call__(
        self, dispatch: Dispatch, memory: Memory, *, sanitize: bool, profile: bool
    ) -> Report:
        """Run one launch to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRecord:
    """One launch."""

    kernel: str
    grid: tuple[int, int, int]
    """In workgroups."""
    block: tuple[int, int, int]
    """In work-items."""
    seconds: float
    """Of emulation: says nothing about a GPU."""
    instructions: int
    findings: tuple[dict[str, object], ...]
    """Of the sanitizer: the fields of each, and as ``text`` a sentence."""
    error: str
    """Why it failed; empty when it ran to its end."""
    profile: dict[str, object] | None = None
    """What was counted, if that was asked for."""


@dataclass(slots=True, kw_only=True)
class Session:
    """The emulated device of one process."""

    execute: Executor
    sanitize: bool = False
    profile: bool = False
    log_folder: Path | None = None
    """Where each launch is also written down, for the process that watches this one."""
    memory: Memory = field(default_factory=Memory)
    launches: list[LaunchRecord] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    """What launches raised, oldest first."""
    memory_sources: list[Callable[[], Sequence[MemoryChange]]] = field(default_factory=list)
    """Others who give device memory out: torch."""
    _code: dict[int, CodeObject] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def load(self, module: int, address: int) -> None:
        """Read the device code at ``address``; it is called ``module`` from then on."""
        self._code[module] = load_image(address)

    def code(self, module: int) -> CodeObject:
        """Return a module's code."""
        return self._code[module]

    def kernel(self, module: int, name: str) -> Kernel:
        """Return a kernel of a module.

        Raises:
            LaunchError: there is none of this name.
        """
        kernels = {kernel.name: kernel for kernel in self._code[module].kernels}
        if name not in kernels:
            raise LaunchError(f"no kernel {name!r} in the module; it has {', '.join(kernels)}")
        return kernels[name]

    def variable(self, module: int, name: str) -> tuple[int, int]:
        """Return address and size in bytes of a device variable.

        Raises:
            LaunchError: there is none of this name.
        """
        self.sync_memory()
        return load(self._code[module], self.memory).symbol(name)

    def allocate(self, size_bytes: int) -> int:
        """Return the address of new device memory."""
        # First: the memory may be where torch just freed some.
        self.sync_memory()
        return self.memory.allocate(size_bytes, label="hipMalloc")

    def sync_memory(self) -> None:
        """Take over what others allocated and freed."""
        for changes in self.memory_sources:
            for change in changes():
                self._apply(change)

    def _apply(self, change: MemoryChange) -> None:
        match change.kind:
            case MemoryChangeKind.FREED:
                self.memory.remove(change.address)
            case MemoryChangeKind.ALLOCATED | MemoryChangeKind.ALLOCATED_FRESH as kind:
                self.memory.add(
                    change.address,
                    change.size_bytes,
                    label="torch",
                    # Only the sanitizer asks, and keeping account costs memory.
                    initialised=not self.sanitize or kind is MemoryChangeKind.ALLOCATED,
                )
            case MemoryChangeKind.WRITTEN:
                found = self.memory.find(change.address)
                if found is not None:
                    self.memory.mark_written(found.address, found.size_bytes)
            case _:
                assert_never(change.kind)

    def launch(self, dispatch: Dispatch) -> None:
        """Run one launch and log it.

        Raises:
            Exception: whatever the executor raised; it is in ``failures`` as well.
        """
        with self._lock:
            self.sync_memory()
            started = time.perf_counter()
            try:
                report = self.execute(
                    dispatch, self.memory, sanitize=self.sanitize, profile=self.profile
                )
            except Exception as error:
                error.add_note(
                    f"in kernel {dispatch.kernel}, grid {dispatch.grid}, block {dispatch.block}"
                )
                self.failures.append(error)
                self._log(dispatch, started, error=f"{type(error).__name__}: {error}")
                raise
            self._log(
                dispatch,
                started,
                instructions=report.instructions,
                findings=tuple(map(_record, report.findings)),
                profile=report.profile,
            )

    def _log(
        self,
        dispatch: Dispatch,
        started: float,
        *,
        instructions: int = 0,
        findings: tuple[dict[str, object], ...] = (),
        error: str = "",
        profile: dict[str, object] | None = None,
    ) -> None:
        record = LaunchRecord(
            kernel=dispatch.kernel,
            grid=dispatch.grid,
            block=dispatch.block,
            seconds=time.perf_counter() - started,
            instructions=instructions,
            findings=findings,
            error=error,
            profile=profile,
        )
        self.launches.append(record)
        if self.log_folder:
            # One short line in append mode: whole even if the process is killed after it.
            path = self.log_folder / f"{os.getpid()}.jsonl"
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record)) + "\n")


def _record(finding: object) -> dict[str, object]:
    fields = asdict(finding) if is_dataclass(finding) and not isinstance(finding, type) else {}
    return {**fields, "text": str(finding)}
