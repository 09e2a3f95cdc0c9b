"""The stand-in for libamdhip64, called as clang's host code and extensions call it."""

from __future__ import annotations

import ctypes
import json
import time
from ctypes import c_int, c_size_t, c_void_p
from struct import pack
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.unit.emulator_device.conftest import Dim3, Process, bundled

from kernelmill.binary import elf
from kernelmill.binary.code_object import parse
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.hip.stub import read_stub_symbols
from kernelmill.emulator.errors import DeviceFault, UnsupportedInstruction
from kernelmill.emulator.hip_runtime.changes import MemoryChange, MemoryChangeKind
from kernelmill.emulator.hip_runtime.library import SONAMES, read_symbol_nodes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.emulator.launch import Dispatch
    from kernelmill.emulator.memory import Memory

LAUNCH_FAILURE, NOT_SUPPORTED, ILLEGAL_ADDRESS = 719, 801, 700
P = c_void_p


def raising(error: BaseException) -> Callable[[Dispatch, Memory], None]:
    def action(dispatch: Dispatch, memory: Memory) -> None:
        raise error

    return action


@pytest.fixture
def tile(process: Process, code: bytes) -> c_void_p:
    """What stands for the kernel ``fp8_tile`` on the host."""
    return process.register(bundled(gfx90a=b"not this", gfx942=code), b"fp8_tile")[0]


def three_pointers() -> tuple[c_void_p, c_void_p, c_void_p]:
    return P(0x1111), P(0x2222), P(0x3333)


@pytest.mark.parametrize("major", [6, 7])
def test_library_has_the_name_and_symbol_versions_when_built(process: Process, major: int) -> None:
    linkage = read_linkage(elf.parse(process.paths[major].read_bytes()))
    assert linkage.soname == SONAMES[major]
    offered = {str(reference) for reference in linkage.defined}
    wanted = {f"{name}@{node}" for name, node in read_stub_symbols().versions.items()}
    assert wanted <= offered


def test_every_name_of_our_hip_header_is_implemented_when_built(process: Process) -> None:
    linkage = read_linkage(elf.parse(process.paths[7].read_bytes()))
    # A weak function is the one that answers "not emulated".
    weak = {reference.name for reference in linkage.defined if reference.is_weak}
    assert "hipGraphCreate" in weak
    assert sorted(weak & set(read_stub_symbols().versions)) == []


def test_symbol_table_names_each_symbol_once_when_read() -> None:
    names = [name for group in read_symbol_nodes().values() for name in group]
    assert len(names) == len(set(names)) > 200


def test_launch_carries_everything_when_it_succeeds(process: Process, tile: c_void_p) -> None:
    error = process.launch(tile, *three_pointers(), grid=(4, 3, 2), block=(32, 4, 2), lds=96)
    assert error == 0
    (dispatch,) = process.executor.seen
    assert (dispatch.kernel, dispatch.grid, dispatch.block) == ("fp8_tile", (4, 3, 2), (32, 4, 2))
    assert dispatch.dynamic_lds_bytes == 96
    assert dispatch.code_object.target == "gfx942"
    assert dispatch.arguments == (pack("<Q", 0x1111), pack("<Q", 0x2222), pack("<Q", 0x3333))
    (record,) = process.session.launches
    assert (record.kernel, record.instructions, record.error) == ("fp8_tile", 3, "")


def test_arguments_have_the_sizes_of_the_kernel_when_read(process: Process, code: bytes) -> None:
    scratch = process.register(bundled(gfx942=code), b"fp8_tile", b"scratch")[1]
    assert process.launch(scratch, P(0x4444), c_int(-2)) == 0
    assert process.executor.seen[0].arguments == (pack("<Q", 0x4444), pack("<i", -2))


def test_module_launch_reads_packed_arguments_when_given_extra(
    process: Process, code: bytes
) -> None:
    module, function, hip = P(), P(), process.hip
    image = ctypes.create_string_buffer(code, len(code))
    assert hip.hipModuleLoadData(ctypes.byref(module), image) == 0
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"scratch") == 0
    packed = ctypes.create_string_buffer(pack("<Qi", 0x5555, 6), 12)
    size = c_size_t(12)
    extra = (c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), 3)
    geometry = [c_int(value) for value in (2, 1, 1, 64, 1, 1, 0)]
    assert hip.hipModuleLaunchKernel(function, *geometry, None, None, extra) == 0
    assert process.executor.seen[0].arguments == (pack("<Q", 0x5555), pack("<i", 6))
    size.value = 8
    assert hip.hipModuleLaunchKernel(function, *geometry, None, None, extra) == 1
    assert "'scratch' takes 12 bytes of arguments, and was given 8" in process.text(1)
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"nothing") == 1
    assert "no kernel 'nothing' in the module; it has fp8_tile, scratch" in process.text(1)


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        pytest.param(DeviceFault("a wild access"), ILLEGAL_ADDRESS, id="fault"),
        pytest.param(UnsupportedInstruction("v_strange"), NOT_SUPPORTED, id="instruction"),
        pytest.param(ZeroDivisionError("in the emulator"), LAUNCH_FAILURE, id="bug"),
    ],
)
def test_exception_becomes_an_error_with_its_text_when_a_launch_fails(
    process: Process, tile: c_void_p, raised: Exception, error: int
) -> None:
    process.executor.action = raising(raised)
    assert process.launch(tile, *three_pointers()) == error
    assert process.hip.hipGetLastError() == error
    assert process.hip.hipGetLastError() == 0
    assert process.text(error).startswith(str(raised))
    assert "in kernel fp8_tile, grid (1, 1, 1), block (64, 1, 1)" in process.text(error)
    assert process.session.failures == [raised]
    assert str(raised) in process.session.launches[0].error
    assert process.runtime.take_fault() is None


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        pytest.param("hipDeviceSynchronize", (), id="device"),
        pytest.param("hipStreamSynchronize", (None,), id="stream"),
        pytest.param("hipMemcpy", (None, None, c_size_t(0), 0), id="copy"),
    ],
)
def test_unseen_failure_surfaces_once_when_synchronising(
    process: Process, tile: c_void_p, call: str, arguments: tuple[object, ...]
) -> None:
    process.executor.action = raising(DeviceFault("wild"))
    process.launch(tile, *three_pointers())
    function = getattr(process.hip, call)
    assert function(*arguments) == ILLEGAL_ADDRESS
    assert function(*arguments) == 0


def test_interrupt_reaches_the_program_when_it_comes_during_a_launch(
    process: Process, tile: c_void_p
) -> None:
    process.executor.action = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        _launch_and_wait(process, tile)
    assert process.text(LAUNCH_FAILURE) == "the launch was interrupted"
    assert process.hip.hipGetLastError() == LAUNCH_FAILURE


def _launch_and_wait(process: Process, tile: c_void_p) -> None:
    process.launch(tile, *three_pointers())
    time.sleep(1)


def test_launch_is_refused_when_it_cannot_be_meant(process: Process, tile: c_void_p) -> None:
    invalid_configuration, invalid_function = 9, 98
    assert process.launch(tile, block=(2048, 1, 1)) == invalid_configuration
    assert process.launch(tile, grid=(0, 1, 1)) == invalid_configuration
    assert process.launch(P(0xDEAD)) == invalid_function
    assert not process.executor.seen


@pytest.mark.parametrize(
    ("image", "error", "text"),
    [
        pytest.param(
            bundled(gfx90a=b"", gfx1201=b""), 209, "was built for gfx90a gfx1201", id="other GPUs"
        ),
        pytest.param(bundled(gfx942=b"ELF?"), 200, "not an ELF file", id="damaged"),
        pytest.param(b"CCOB" + bytes(60), 200, "a compressed offload bundle", id="compressed"),
        pytest.param(b"nothing" + bytes(60), 200, "not device code", id="garbage"),
    ],
)
def test_library_is_refused_when_its_code_cannot_be_run(
    process: Process, image: bytes, error: int, text: str
) -> None:
    (stub,) = process.register(image, b"kernel")
    assert process.launch(stub) == error
    assert text in process.text(error)
    assert text in str(process.session.failures[0])


def test_libraries_share_errors_and_launches_when_both_are_loaded(
    process: Process, tile: c_void_p
) -> None:
    assert process.launch(tile, *three_pointers(), hip=process.hip6) == 0
    assert len(process.executor.seen) == 1
    process.executor.action = raising(DeviceFault("wild"))
    process.launch(tile, *three_pointers(), hip=process.hip6)
    assert process.hip.hipDeviceSynchronize() == ILLEGAL_ADDRESS


def test_kernel_is_gone_when_its_library_is_unloaded(process: Process, code: bytes) -> None:
    (stub,) = process.register(bundled(gfx942=code), b"fp8_tile")
    assert process.launch(stub, *three_pointers()) == 0
    getattr(process.hip, "__hipUnregisterFatBinary")(process.kept[-1])
    assert process.launch(stub, *three_pointers()) == 98


def test_pushed_configurations_come_back_in_order_when_popped(process: Process) -> None:
    push = getattr(process.hip, "__hipPushCallConfiguration")
    pop = getattr(process.hip, "__hipPopCallConfiguration")
    for number in (1, 2):
        assert push(Dim3(number, 5, 6), Dim3(7, 8, number), c_size_t(number), P(number)) == 0
    grid, block, lds, stream = Dim3(), Dim3(), c_size_t(), P()
    references = [ctypes.byref(item) for item in (grid, block, lds, stream)]
    for number in (2, 1):
        assert pop(*references) == 0
        assert (grid.x, grid.y, grid.z, block.z, lds.value) == (number, 5, 6, number, number)
        assert stream.value == number
    assert pop(*references) == 52


def test_memory_is_given_out_poisoned_and_checked_when_copied(process: Process) -> None:
    hip, pointer = process.hip, P()
    assert hip.hipMalloc(ctypes.byref(pointer), c_size_t(100)) == 0
    assert ctypes.string_at(pointer.value or 0, 100) == b"\xff" * 100
    found = process.session.memory.find((pointer.value or 0) + 99)
    assert found is not None
    assert (found.size_bytes, found.label) == (100, "hipMalloc")
    host = ctypes.create_string_buffer(b"abcdefgh", 8)
    assert hip.hipMemcpy(pointer, host, c_size_t(8), 1) == 0
    assert hip.hipMemcpy(pointer, host, c_size_t(101), 1) == 1
    assert hip.hipMemcpy(host, host, c_size_t(8), 1) == 1
    assert hip.hipMemset(pointer, 0x5A, c_size_t(4)) == 0
    back = ctypes.create_string_buffer(8)
    assert hip.hipMemcpy(back, pointer, c_size_t(8), 2) == 0
    assert back.raw == b"ZZZZefgh"
    assert hip.hipMemset(pointer, 0, c_size_t(101)) == 1
    assert hip.hipFree(pointer) == 0
    assert hip.hipMemcpy(back, pointer, c_size_t(8), 2) == 1
    assert hip.hipFree(None) == 0


def test_pointer_is_known_for_what_it_is_when_asked(process: Process) -> None:
    pointer, octets = P(), ctypes.create_string_buffer(32)
    process.hip.hipMalloc(ctypes.byref(pointer), c_size_t(64))
    assert process.hip.hipPointerGetAttributes(octets, pointer) == 0
    assert (octets.raw[0], int.from_bytes(octets.raw[8:16], "little")) == (2, pointer.value)
    assert process.hip.hipPointerGetAttributes(octets, ctypes.byref(pointer)) == 0
    assert octets.raw[0] == 0
    process.hip.hipFree(pointer)


def test_kernel_tells_what_it_needs_when_asked(
    process: Process, tile: c_void_p, code: bytes
) -> None:
    (kernel, _) = parse(code).kernels
    octets, blocks, grid = ctypes.create_string_buffer(56), c_int(), c_int()
    assert process.hip.hipFuncGetAttributes(octets, tile) == 0
    lanes, registers = (int.from_bytes(octets.raw[at : at + 4], "little") for at in (28, 32))
    assert (lanes, registers) == (kernel.max_workgroup_size, kernel.vgpr_count)
    assert int.from_bytes(octets.raw[48:56], "little") == kernel.lds_bytes == 2048
    occupancy = process.hip.hipOccupancyMaxActiveBlocksPerMultiprocessor
    assert occupancy(ctypes.byref(blocks), tile, 256, c_size_t(0)) == 0
    assert blocks.value == 8
    assert occupancy(ctypes.byref(blocks), tile, 256, c_size_t(30 * 1024)) == 0
    assert blocks.value == 2
    best = process.hip.hipOccupancyMaxPotentialBlockSize
    assert best(ctypes.byref(grid), ctypes.byref(blocks), tile, c_size_t(0), 0) == 0
    assert (grid.value, blocks.value) == (32 * 304, 64)


def test_events_measure_the_time_between_when_recorded(process: Process) -> None:
    hip, start, stop = process.hip, P(), P()
    for event in (start, stop):
        assert hip.hipEventCreate(ctypes.byref(event)) == 0
    distance = ctypes.c_float()
    assert hip.hipEventElapsedTime(ctypes.byref(distance), start, stop) == 400
    assert hip.hipEventRecord(start, None) == 0
    time.sleep(0.002)
    assert hip.hipEventRecord(stop, None) == 0
    assert hip.hipEventElapsedTime(ctypes.byref(distance), start, stop) == 0
    assert 2 <= distance.value < 1000
    assert [hip.hipEventDestroy(event) for event in (start, stop)] == [0, 0]


def test_launches_are_written_down_when_there_is_a_folder(
    process: Process, tile: c_void_p, tmp_path: Path
) -> None:
    process.session.log_folder = tmp_path
    process.launch(tile, *three_pointers())
    process.executor.action = raising(DeviceFault("wild"))
    process.launch(tile, *three_pointers())
    (file,) = tmp_path.iterdir()
    first, second = map(json.loads, file.read_text("utf-8").splitlines())
    assert (first["kernel"], first["grid"], first["error"]) == ("fp8_tile", [1, 1, 1], "")
    assert second["error"] == "DeviceFault: wild"


def change(kind: MemoryChangeKind, address: int, size_bytes: int = 0) -> MemoryChange:
    return MemoryChange(kind=kind, address=address, size_bytes=size_bytes)


def unwritten(process: Process, address: int) -> bool:
    """Say whether the byte at ``address`` was never written, as far as is known."""
    found = process.session.memory.unwritten(np.array([address]), np.array([True]), 1)
    return found is not None and bool(found.any())


def test_written_memory_is_told_from_fresh_when_sanitizing(process: Process) -> None:
    hip, pointer, host = process.hip, P(), ctypes.create_string_buffer(64)
    assert hip.hipMalloc(ctypes.byref(pointer), c_size_t(64)) == 0
    start = pointer.value or 0
    assert hip.hipMemcpy(pointer, host, c_size_t(8), 1) == 0
    assert hip.hipMemset(P(start + 8), 0, c_size_t(8)) == 0
    assert [unwritten(process, start + at) for at in (0, 7, 8, 15, 16)] == [False] * 4 + [True]
    assert hip.hipFree(pointer) == 0
    assert hip.hipHostMalloc(ctypes.byref(pointer), c_size_t(64), 0) == 0
    assert not unwritten(process, pointer.value or 0)
    assert hip.hipHostFree(pointer) == 0
    process.session.sanitize = True
    address = ctypes.addressof(host)
    changes = [change(MemoryChangeKind.ALLOCATED_FRESH, address, 64)]
    process.session.memory_sources.append(lambda: [changes.pop(0) for _ in list(changes)])
    process.session.sync_memory()
    assert unwritten(process, address)
    changes.append(change(MemoryChangeKind.WRITTEN, address))
    process.session.sync_memory()
    assert not unwritten(process, address)
    process.session.memory.remove(address)


def test_memory_of_others_is_known_when_a_kernel_runs(process: Process, tile: c_void_p) -> None:
    octets = ctypes.create_string_buffer(256)
    address = ctypes.addressof(octets)
    changes = [change(MemoryChangeKind.ALLOCATED, address, 256)]
    process.session.memory_sources.append(lambda: [changes.pop(0) for _ in list(changes)])
    assert process.hip.hipMemset(P(address), 1, c_size_t(256)) == 0
    changes += [
        change(MemoryChangeKind.FREED, address),
        change(MemoryChangeKind.ALLOCATED_FRESH, address + 128, 64),
    ]
    assert process.launch(tile, *three_pointers()) == 0
    assert process.session.memory.find(address) is None
    assert process.session.memory.find(address + 128) is not None
    process.session.memory.remove(address + 128)
