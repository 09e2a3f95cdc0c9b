"""A stand-in that is compiled, loaded and attached to an executor written in Python."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelmill.binary import bundle
from kernelmill.emulator.hip_runtime.attach import HipRuntime
from kernelmill.emulator.hip_runtime.compile import find_c_compiler
from kernelmill.emulator.hip_runtime.errors import CompileError
from kernelmill.emulator.hip_runtime.library import ensure_runtimes
from kernelmill.emulator.hip_runtime.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.launch import Dispatch
    from kernelmill.emulator.memory import Memory

CODE = Path(__file__).parents[1] / "binary" / "data" / "fp8_tile.gfx942.co"
MAGIC = 0x48495046


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonReport:
    instructions: int = 3
    findings: tuple[str, ...] = ()
    profile: dict[str, object] | None = None


def do_nothing(*_: object) -> None:
    pass


@dataclass(slots=True)
class PythonExecutor:
    """Stands for the emulator: does what a test tells it, and remembers what it was given."""

    seen: list[Dispatch] = field(default_factory=list)
    action: Callable[[Dispatch, Memory], None] = do_nothing

    def __call__(
        self, dispatch: Dispatch, memory: Memory, *, sanitize: bool, profile: bool
    ) -> PythonReport:
        del sanitize, profile
        self.seen.append(dispatch)
        self.action(dispatch, memory)
        return PythonReport()


class Dim3(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32))


class Wrapper(ctypes.Structure):
    """What clang's host code hands to ``__hipRegisterFatBinary``."""

    _fields_ = (
        ("magic", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("image", c_void_p),
        ("unused", c_void_p),
    )


@dataclass(slots=True, kw_only=True)
class Process:
    """What a process that uses HIP has: the runtime, and a library that registered itself."""

    hip: ctypes.CDLL
    hip6: ctypes.CDLL
    runtime: HipRuntime
    executor: PythonExecutor
    paths: dict[int, Path]
    kept: list[object] = field(default_factory=list)
    stubs: int = 0x1000

    @property
    def session(self) -> Session:
        return self.runtime.session

    def register(self, image: bytes, *kernels: bytes) -> list[c_void_p]:
        """Register device code as clang does; return what stands for its kernels."""
        octets = ctypes.create_string_buffer(image, len(image))
        wrapper = Wrapper(MAGIC, 1, ctypes.addressof(octets), None)
        self.kept += [octets, wrapper, *kernels]
        module = c_void_p(getattr(self.hip, "__hipRegisterFatBinary")(ctypes.byref(wrapper)))
        register = getattr(self.hip, "__hipRegisterFunction")
        found = []
        for kernel in kernels:
            self.stubs += 1
            stub = c_void_p(self.stubs)
            register(module, stub, kernel, kernel, ctypes.c_uint(0), *[None] * 5)
            found.append(stub)
        self.kept.append(module)
        return found

    def launch(
        self,
        stub: c_void_p,
        *values: c_void_p | ctypes.c_int,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (64, 1, 1),
        lds: int = 0,
        hip: ctypes.CDLL | None = None,
    ) -> int:
        pointers = (c_void_p * len(values))(*map(ctypes.addressof, values))
        call = (hip or self.hip).hipLaunchKernel
        return int(call(stub, Dim3(*grid), Dim3(*block), pointers, ctypes.c_size_t(lds), None))

    def text(self, error: int) -> str:
        return str(self.hip.hipGetErrorString(error).decode())


def bundled(**codes: bytes) -> bytes:
    """Return an offload bundle as clang makes them."""
    host = bundle.Entry(id="host-x86_64-unknown-linux--", data=b"")
    entries = [bundle.Entry(id=bundle.device_id(arch), data=code) for arch, code in codes.items()]
    return bundle.build([host, *entries])


@pytest.fixture(scope="session")
def code() -> bytes:
    """Kernels ``fp8_tile(pointer, pointer, pointer)`` and ``scratch(pointer, int)``."""
    return CODE.read_bytes()


@pytest.fixture(scope="session")
def _process(tmp_path_factory: pytest.TempPathFactory) -> Process:
    path = os.environ["PATH"]
    try:
        find_c_compiler(path)
    except CompileError as error:
        pytest.skip(str(error))
    paths = ensure_runtimes(tmp_path_factory.mktemp("runtimes"), path=path)
    executor = PythonExecutor()
    runtime = HipRuntime(paths, lambda: Session(execute=executor))
    hip, hip6 = ctypes.CDLL(str(paths[7])), ctypes.CDLL(str(paths[6]))
    hip.hipGetErrorString.restype = ctypes.c_char_p
    getattr(hip, "__hipRegisterFatBinary").restype = c_void_p
    return Process(hip=hip, hip6=hip6, runtime=runtime, executor=executor, paths=paths)


@pytest.fixture
def process(_process: Process) -> Process:
    """The process, with nothing left of the test before."""
    _process.executor.seen.clear()
    _process.executor.action = do_nothing
    _process.session.launches.clear()
    _process.session.failures.clear()
    _process.session.log_folder = None
    _process.session.sanitize = False
    _process.session.memory_sources.clear()
    _process.hip.hipGetLastError()
    _process.hip6.hipGetLastError()
    _process.runtime.take_fault()
    return _process
