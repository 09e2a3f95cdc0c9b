"""Libraries with AMD device code, called with tensors of the emulated device.

Run by ``test_emulated_device.py``, with the plug-in; the libraries are those of ``project/``.
"""

# torch.cuda.Stream and its like have no types.
# mypy: allow-untyped-calls

from __future__ import annotations

import ctypes
import os
from ctypes import c_float, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import torch
from torch import Tensor
from torch.library import opcheck

if TYPE_CHECKING:
    from kernelmill.emulator.pytest_plugin import Launches

KERNELS: Final = Path(os.environ["KERNELMILL_TEST_KERNELS"])
ADD: Final = "_Z10add_kernelPKfS0_Pfi"
NAN: Final = float("nan")

plain = ctypes.CDLL(str(KERNELS / "libkernels_gfx942.so"))
hip = ctypes.CDLL("libamdhip64.so.7")  # found by its soname: the stand-in is in the process
hip.hipGetErrorString.restype = ctypes.c_char_p
for _name in ("full_abi", "stable_abi"):
    torch.ops.load_library(KERNELS / f"lib{_name}.so")


def address(tensor: Tensor) -> c_void_p:
    return c_void_p(tensor.data_ptr())


def add(a: Tensor, b: Tensor, out: Tensor, count: int | None = None) -> int:
    count = out.numel() if count is None else count
    return int(plain.launch_add(address(a), address(b), address(out), count, None))


@pytest.fixture(params=["fixture_full", "fixture_stable"])
def operator(request: pytest.FixtureRequest) -> torch._ops.OpOverload:
    found = getattr(torch.ops, request.param).add.default
    assert isinstance(found, torch._ops.OpOverload)
    return found


def test_operator_runs_its_machine_code_when_called(
    operator: torch._ops.OpOverload, emulated_launches: Launches
) -> None:
    a, b = torch.randn(3, 100, device="cuda"), torch.randn(3, 100, device="cuda")
    out = operator(a, b)
    assert out.is_cuda
    assert torch.equal(out, a + b)
    (launch,) = emulated_launches
    assert (launch.kernel, launch.grid, launch.block) == (ADD, (5, 1, 1), (64, 1, 1))
    assert launch.instructions >= 5 * 10
    assert launch.seconds > 0
    assert (launch.error, launch.findings) == ("", ())


def _same_shape(a: Tensor, b: Tensor) -> Tensor:
    assert a.shape == b.shape
    return torch.empty_like(a)


def test_operator_passes_opcheck_when_it_has_a_fake(operator: torch._ops.OpOverload) -> None:
    namespace = operator.namespace
    with torch.library._scoped_library(namespace, "FRAGMENT") as library:
        torch.library.register_fake(f"{namespace}::add", _same_shape, lib=library)
        inputs = (torch.randn(70, device="cuda"), torch.randn(70, device="cuda"))
        opcheck(operator, inputs)
        compiled = torch.compile(
            lambda a, b: operator(a, b) * 2, backend="aot_eager", fullgraph=True
        )
        torch.testing.assert_close(compiled(*inputs), (inputs[0] + inputs[1]) * 2)


def test_operator_runs_when_a_stream_is_current(operator: torch._ops.OpOverload) -> None:
    a = torch.ones(64, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        assert operator(a, a).tolist() == [2] * 64


def test_operator_refuses_host_tensors_when_called(operator: torch._ops.OpOverload) -> None:
    with pytest.raises(NotImplementedError, match="'CPU' backend"):
        operator(torch.ones(2), torch.ones(2))


def test_kernel_sees_only_device_memory_when_given_a_host_pointer(
    operator: torch._ops.OpOverload,
) -> None:
    out = torch.empty(4, device="cuda")
    error = add(torch.ones(4), out, out)
    assert error == 700
    text = hip.hipGetErrorString(error).decode()
    assert "outside every allocation" in text
    assert f"in kernel {ADD}, grid (1, 1, 1), block (64, 1, 1)" in text
    assert torch.equal(operator(out, out), out) is False  # and the device goes on


def test_operator_raises_when_its_kernel_reads_out_of_bounds() -> None:
    a = torch.ones(512, device="cuda")
    assert torch.ops.fixture_full.add_trusting(a, a, 512).tolist() == [2] * 512
    with pytest.raises(RuntimeError, match=r"add: .*read of 4 bytes at 0x.* is outside every"):
        torch.ops.fixture_full.add_trusting(a, a, 100_000)


def test_unnoticed_failure_surfaces_when_synchronising() -> None:
    a, out = torch.ones(8, device="cuda"), torch.zeros(8, device="cuda")
    plain.launch_add_unchecked(address(torch.ones(8)), address(a), address(out), 8)
    with pytest.raises(RuntimeError, match=r"HIP error: .*outside every allocation"):
        torch.cuda.synchronize()
    torch.cuda.synchronize()
    plain.launch_add_unchecked(address(torch.ones(8)), address(a), address(out), 8)
    with pytest.raises(RuntimeError, match="HIP error: "):
        out.cpu()
    assert out.tolist() == [0] * 8


def test_freed_memory_is_no_longer_the_devices_when_used() -> None:
    out = torch.empty(64, device="cuda")
    gone = torch.ones(1 << 20, device="cuda")
    pointer = address(gone)
    del gone
    assert plain.launch_add(pointer, address(out), address(out), 64, None) == 700


def test_device_variable_is_set_when_copied_to() -> None:
    x = torch.arange(100.0, device="cuda")
    assert plain.launch_scale(address(x), 100, c_float(2.5)) == 0
    assert torch.equal(x, torch.arange(100.0, device="cuda") * 2.5)
    assert plain.launch_scale(address(x), 100, c_float(2)) == 0
    assert x[3].item() == 15


def test_lds_has_the_size_of_the_launch_when_dynamic() -> None:
    x = torch.arange(128.0, device="cuda")
    assert plain.launch_reverse(address(x), 128) == 0
    assert x.tolist() == [*range(63, -1, -1), *range(127, 63, -1)]


def test_occupancy_is_that_of_the_code_object_when_asked() -> None:
    blocks = c_int()
    assert plain.add_occupancy(ctypes.byref(blocks), 256) == 0
    assert blocks.value == 8  # 32 waves on a compute unit, 4 in a workgroup
    assert plain.add_occupancy(ctypes.byref(blocks), 2000) == 1


def test_library_for_another_gpu_is_refused_when_launched() -> None:
    other = ctypes.CDLL(str(KERNELS / "libkernels_gfx90a.so"))
    x = torch.ones(4, device="cuda")
    error = other.launch_add(address(x), address(x), address(x), 4, None)
    assert error == 209
    text = hip.hipGetErrorString(error).decode()
    assert "no device code for gfx942:sramecc+:xnack-: the library was built for gfx90a" in text


def test_hip_memory_works_when_used_beside_torch() -> None:
    pointer, size = c_void_p(), 256
    assert hip.hipMalloc(ctypes.byref(pointer), c_size_t(size)) == 0
    device = torch.arange(64.0, device="cuda")
    assert hip.hipMemcpy(pointer, address(device), c_size_t(size), 3) == 0
    assert plain.launch_add(pointer, pointer, pointer, 64, None) == 0
    host = torch.empty(64)
    assert hip.hipMemcpy(address(host), pointer, c_size_t(size), 2) == 0
    assert torch.equal(host, torch.arange(64.0) * 2)
    assert hip.hipMemcpy(address(host), pointer, c_size_t(size + 1), 2) == 1
    assert hip.hipMemsetD32(pointer, 7, c_size_t(64)) == 0
    start, length = c_void_p(), c_size_t()
    inside = c_void_p((pointer.value or 0) + 100)
    assert hip.hipMemGetAddressRange(ctypes.byref(start), ctypes.byref(length), inside) == 0
    assert (start.value, length.value) == (pointer.value, size)
    assert hip.hipFree(pointer) == 0
    assert hip.hipFree(pointer) == 1
    assert hip.hipGetLastError() == 1


def test_properties_are_where_hip_6_has_them_when_asked() -> None:
    octets = ctypes.create_string_buffer(1472)
    assert hip.hipGetDevicePropertiesR0600(octets, 0) == 0
    assert octets.value == b"AMD Instinct MI300X (emulated)"
    assert octets.raw[1160:].split(b"\0")[0] == b"gfx942:sramecc+:xnack-"
    assert int.from_bytes(octets.raw[388:392], "little") == 304
    assert hip.hipGetDevicePropertiesR0600(octets, 1) == 101


def test_call_is_refused_by_name_when_it_is_not_emulated(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert hip.hipGraphCreate(None, 0) == 801
    assert hip.hipGetErrorString(801) == b"hipGraphCreate is not emulated"
    assert "hipGraphCreate is not emulated" in capfd.readouterr().err
    assert hip.hipGetLastError() == 801


def test_stream_of_hip_is_usable_by_torch_when_wrapped() -> None:
    handle = c_void_p()
    assert hip.hipStreamCreate(ctypes.byref(handle)) == 0
    stream = torch.cuda.ExternalStream(handle.value or 0)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream().cuda_stream == handle.value
    called: list[int] = []
    callback = ctypes.CFUNCTYPE(None, c_void_p)(called.append)
    assert hip.hipLaunchHostFunc(handle, callback, c_void_p(5)) == 0
    assert called == [5]
    assert hip.hipStreamSynchronize(handle) == 0
    assert hip.hipStreamDestroy(handle) == 0


def test_library_for_a_rocm_build_of_torch_works_when_loaded() -> None:
    library = ctypes.CDLL(str(KERNELS / "librocm_names.so"))
    library.device_name.restype = library.error_text.restype = ctypes.c_char_p
    assert library.is_current_stream(None) == 1
    stream = torch.cuda.Stream()
    assert library.is_current_stream(c_void_p(stream.cuda_stream)) == 0
    with torch.cuda.stream(stream):
        assert library.is_current_stream(c_void_p(stream.cuda_stream)) == 1
    assert library.device_name() == b"AMD Instinct MI300X (emulated)"
    assert library.error_text(0) == b"none"
    assert library.error_text(101).startswith(b"HIP error: invalid device ordinal")
