"""Compile small HIP kernels for gfx942, and launch them in the emulator."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.binary.code_object import CodeObject, read_code_objects
from kernelmill.builder.hip.probe import probe_hip_compilers
from kernelmill.builder.hip.toolchain import require
from kernelmill.emulator.launch import Dispatch, run_dispatch
from kernelmill.emulator.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kernelmill.emulator.arrays import Array
    from kernelmill.emulator.report import DispatchReport

KERNELS: Final = Path(__file__).parent / "kernels"
HEADERS: Final = Path(__file__).parents[2] / "src/kernelmill/builder/hip/include"
TIMEOUT_S: Final = 60
FLAGS: Final = (
    "-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "--offload-arch=gfx942",
    "-mcode-object-version=5", "-nogpulib", "-nogpuinc", "-ffreestanding", "-std=c++17",
)  # fmt: skip


@cache
def compiler() -> tuple[str, ...]:
    """Return a compiler for AMD GPUs, with what makes zig's clang complete."""
    trials = probe_hip_compilers(environ=os.environ, package_folders=sys.path)
    return require(trials).command


def compile_device_code(
    source: Path, folder: Path, *flags: str, with_compiler: Sequence[str] = ()
) -> bytes:
    """Return the gfx942 code object of a HIP source."""
    command = list(with_compiler or compiler())
    target = folder / f"{source.stem}.co"
    more: list[str] = []
    if len(command) > 1:  # zig: clang asks for "lld -flavor gnu", zig has it under another name
        linker = folder / "bin" / "lld"
        linker.parent.mkdir(exist_ok=True)
        linker.write_text(f"#!/bin/sh\nshift 2\nexec '{command[0]}' ld.lld \"$@\"\n")
        linker.chmod(0o755)
        headers = Path(command[0]).parent / "lib" / "include"
        more = [f"-B{linker.parent}", "-nostdinc", "-isystem", str(headers)]
    done = subprocess.run(
        [*command, *FLAGS, *more, "-isystem", str(HEADERS), *flags,
         "-c", str(source), "-o", str(target)],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return target.read_bytes()


@cache
def code_object(path: Path, folder: Path, *flags: str) -> CodeObject:
    """Return the compiled code object of a kernel file."""
    return read_code_objects(compile_device_code(path, folder, *flags), where=path.name)[0]


@dataclass
class Device:
    """An emulated device with its memory."""

    code: CodeObject
    memory: Memory = field(default_factory=Memory)

    def put(self, values: NDArray[np.generic], label: str = "") -> int:
        """Return the address of a copy of ``values``."""
        octets = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        address = self.memory.allocate(max(octets.size, 1), label=label)
        if octets.size:
            self.memory.view(address, octets.size)[:] = octets
        return address

    def get(self, address: int, count: int, dtype: str) -> Array:
        """Return a copy of ``count`` values at ``address``."""
        kind = np.dtype(dtype)
        return self.memory.view(address, count * kind.itemsize).view(kind).copy()

    def launch(
        self,
        kernel: str,
        *arguments: int | bytes,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (64, 1, 1),
        dynamic_lds_bytes: int = 0,
        sanitize: bool = False,
        profile: bool = False,
    ) -> DispatchReport:
        """Run a kernel. An ``int`` takes as many bytes as the kernel's argument has."""
        sizes = next(
            [item.size_bytes for item in entry.args if not item.value_kind.startswith("hidden_")]
            for entry in self.code.kernels
            if entry.name == kernel
        )
        packed = tuple(
            value if isinstance(value, bytes) else value.to_bytes(size, "little", signed=value < 0)
            for value, size in zip(arguments, sizes, strict=True)
        )
        dispatch = Dispatch(
            code_object=self.code, kernel=kernel, grid=grid, block=block,
            dynamic_lds_bytes=dynamic_lds_bytes, arguments=packed,
        )  # fmt: skip
        return run_dispatch(dispatch, self.memory, sanitize=sanitize, profile=profile)
