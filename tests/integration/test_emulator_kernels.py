"""Kernels compiled from HIP give, in the emulator, what NumPy computes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.integration.device_code import KERNELS, Device, code_object

from kernelmill.emulator.errors import DeviceFault, LaunchError
from kernelmill.emulator.fp8 import E4M3FNUZ, E5M2FNUZ
from kernelmill.emulator.launch import Dispatch, run_dispatch
from kernelmill.emulator.memory import Memory
from kernelmill.emulator.report import to_json, to_text

if TYPE_CHECKING:
    from pathlib import Path

OPTIMISED, PLAIN = "-O3", "-O0"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("device-code")


@pytest.fixture(params=[OPTIMISED, PLAIN])
def device(request: pytest.FixtureRequest, folder: Path) -> Device:
    return Device(code_object(KERNELS / "basics.hip", folder, request.param))


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("n", [1, 63, 64, 1000])
def test_add_when_the_grid_is_smaller_than_the_work(device: Device, n: int) -> None:
    a, b = random().random((2, n), dtype=np.float32)
    out = device.put(np.zeros(n, np.float32))
    device.launch("add", device.put(a), device.put(b), out, n, grid=(3, 1, 1), block=(96, 1, 1))
    np.testing.assert_array_equal(device.get(out, n, "f4"), a + b)


def test_reduce_when_the_last_workgroup_is_partial(device: Device) -> None:
    n = 1000
    values = random().integers(-50, 50, n).astype(np.float32)
    out = device.put(np.zeros(4, np.float32))
    device.launch("reduce", device.put(values), out, n, grid=(4, 1, 1), block=(256, 1, 1))
    padded = np.pad(values, (0, 24)).reshape(4, 256)
    np.testing.assert_array_equal(device.get(out, 4, "f4"), padded.sum(axis=1))


def test_reduce_wave_when_lanes_exchange_values(device: Device) -> None:
    values = random().integers(-50, 50, (5, 64)).astype(np.float32)
    out = device.put(np.zeros(5, np.float32))
    device.launch("reduce_wave", device.put(values), out, grid=(5, 1, 1))
    np.testing.assert_array_equal(device.get(out, 5, "f4"), values.sum(axis=1))


@pytest.mark.parametrize(("rows", "cols"), [(32, 32), (33, 70), (1, 100)])
def test_transpose_when_edges_are_masked(device: Device, rows: int, cols: int) -> None:
    values = random().random((rows, cols), dtype=np.float32)
    out = device.put(np.zeros(rows * cols, np.float32))
    grid = (-(-cols // 32), -(-rows // 32), 1)
    device.launch("transpose", device.put(values), out, rows, cols, grid=grid, block=(32, 8, 1))
    np.testing.assert_array_equal(device.get(out, rows * cols, "f4").reshape(cols, rows), values.T)


def test_stencil_when_blocks_have_two_dimensions(device: Device) -> None:
    values = random().random((21, 37))
    expected = np.zeros_like(values)
    inner = values[1:-1, 1:-1]
    around = values[1:-1, :-2] + values[1:-1, 2:] + values[:-2, 1:-1] + values[2:, 1:-1]
    expected[1:-1, 1:-1] = 0.5 * inner + 0.125 * around
    out = device.put(np.zeros_like(values))
    device.launch("stencil", device.put(values), out, 21, 37, grid=(5, 6, 1), block=(8, 4, 1))
    np.testing.assert_allclose(device.get(out, values.size, "f8").reshape(21, 37), expected, 1e-14)


def test_histogram_when_many_lanes_hit_one_counter(device: Device) -> None:
    n = 700
    values = random().integers(0, 7, n, dtype=np.uint8)
    counts, order = device.put(np.zeros(257, np.uint32)), device.put(np.zeros(n, np.uint32))
    device.launch(
        "histogram", device.put(values), counts, n, order, grid=(6, 1, 1), block=(128, 1, 1)
    )
    found = device.get(counts, 257, "u4")
    np.testing.assert_array_equal(found[:256], np.bincount(values, minlength=256))
    assert found[256] == n
    assert sorted(device.get(order, n, "u4")) == list(range(n)), "each lane gets its own number"


def test_atomics_when_types_differ(device: Device) -> None:
    total, wide = device.put(np.zeros(1, np.float32)), device.put(np.zeros(1))
    extremes, swap = device.put(np.zeros(2, np.int32)), device.put(np.zeros(1, np.uint32))
    device.launch("float_atomics", total, wide, extremes, swap, block=(192, 1, 1))
    assert device.get(total, 1, "f4") == 96
    assert device.get(wide, 1, "f8") == 48
    assert list(device.get(extremes, 2, "i4")) == [191, -191]
    assert 1 <= device.get(swap, 1, "u4")[0] <= 192


def test_quotients_when_operands_are_extreme(device: Device) -> None:
    special = [0.0, -0.0, 1.0, -3.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 1e-38, 7.0]
    a, b = (x.reshape(-1).astype(np.float32) for x in np.meshgrid(special, special))
    n = len(a)
    c, d = a.astype(np.float64) * 1e-270, b.astype(np.float64)
    out, wide = device.put(np.zeros(3 * n, np.float32)), device.put(np.zeros(2 * n))
    addresses = [device.put(x) for x in (a, b)]
    more = [device.put(x) for x in (c, d)]
    device.launch("quotients", *addresses, out, *more, wide, n, grid=(3, 1, 1))
    found, doubles = device.get(out, 3 * n, "f4").reshape(n, 3), device.get(wide, 2 * n, "f8")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found[:, 0], a / b)
        np.testing.assert_array_max_ulp(found[:, 1], np.sqrt(a), maxulp=1)
        np.testing.assert_array_equal(found[:, 2], np.floor(a) + np.fmin(a, b))
        # The last step scales and rounds: twice, for a denormal result.
        np.testing.assert_array_max_ulp(doubles[0::2], c / d, maxulp=1)
        np.testing.assert_allclose(doubles[1::2], np.sqrt(c), 1e-15)


def test_integers_when_they_have_64_bits(device: Device) -> None:
    n = 200
    a, b = random().integers(-(2**63), 2**63 - 1, (2, n), dtype=np.int64)
    b >>= random(1).integers(0, 62, n)
    b[b == 0] = 3
    out = device.put(np.zeros(8 * n, np.int64))
    device.launch("integers", device.put(a), device.put(b), out, n, grid=(4, 1, 1))
    found = device.get(out, 8 * n, "i8").reshape(n, 8)
    quotient = np.array([abs(int(x)) // abs(int(y)) for x, y in zip(a, b, strict=True)])
    signed = np.where((a < 0) == (b < 0), quotient, -quotient)
    np.testing.assert_array_equal(found[:, 0], signed)
    np.testing.assert_array_equal(found[:, 1], a - signed * b)
    np.testing.assert_array_equal(found[:, 2], a * b)
    np.testing.assert_array_equal(
        found[:, 3].view(np.uint64), a.view(np.uint64) // b.view(np.uint64)
    )
    np.testing.assert_array_equal(found[:, 4], a << (b & 63))
    narrow, divisor = a.astype(np.int32), b.astype(np.int32) | 1
    small = [int(abs(int(x)) // abs(int(y))) for x, y in zip(narrow, divisor, strict=True)]
    np.testing.assert_array_equal(
        found[:, 5], np.where((narrow < 0) == (divisor < 0), small, np.negative(small))
    )
    bits = [bin(int(x) & (2**64 - 1)).count("1") for x in a]
    zeros = [32 - (int(y) & (2**32 - 1)).bit_length() for y in b]
    np.testing.assert_array_equal(found[:, 6], np.add(bits, zeros))
    np.testing.assert_array_equal(found[:, 7], np.where(a < b, -a, b))


def test_scratch_when_an_array_is_indexed_at_run_time(device: Device) -> None:
    index = random().integers(0, 16, 64).astype(np.int32)
    out = device.put(np.zeros(64, np.int32))
    device.launch("scratch", device.put(index), out)
    lane = np.arange(64)
    held = np.arange(16)[None] ** 2 + lane[:, None]
    expected = held.sum(axis=1) + 1000 + held[lane, index] + 1000
    np.testing.assert_array_equal(device.get(out, 64, "i4"), expected)


def fp8_codes(shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    codes = random(5).integers(0, 256, shape, dtype=np.uint8)
    codes[codes == 0x80] = 0
    return codes


def test_mfma_when_it_multiplies_16x16x32(device: Device) -> None:
    a, b = fp8_codes((2, 16, 32))
    # Lane l holds row l % 16, k = 8 * (l / 16) + byte (facts of CDNA3).
    lanes = [x.reshape(16, 4, 8).transpose(1, 0, 2) for x in (a, b)]
    out = device.put(np.zeros(256, np.float32))
    device.launch("mfma_16x16x32", device.put(lanes[0]), device.put(lanes[1]), out)
    table = E4M3FNUZ.table.astype(np.float64)
    np.testing.assert_allclose(
        device.get(out, 256, "f4").reshape(16, 16), table[a] @ table[b].T, rtol=1e-4, atol=1e-2
    )


def test_mfma_when_it_multiplies_32x32x16_of_two_formats(device: Device) -> None:
    a, b = fp8_codes((2, 32, 16))
    lanes = [x.reshape(32, 2, 8).transpose(1, 0, 2) for x in (a, b)]
    out = device.put(np.zeros(1024, np.float32))
    device.launch("mfma_32x32x16", device.put(lanes[0]), device.put(lanes[1]), out)
    one, other = E4M3FNUZ.table.astype(np.float64), E5M2FNUZ.table.astype(np.float64)
    expected = one[a] @ other[b].T
    np.testing.assert_allclose(
        device.get(out, 1024, "f4").reshape(32, 32),
        expected,
        rtol=1e-3,
        atol=abs(expected).max() / 1e6,
    )


def test_fp8_when_all_codes_are_converted(device: Device) -> None:
    codes = np.arange(256, dtype=np.uint8)
    finite = np.where(codes == 0x80, 0, codes)
    given = E4M3FNUZ.table[finite].copy()
    values, out = device.put(np.zeros(256, np.float32)), device.put(np.zeros(64, np.int32))
    device.launch("fp8", device.put(codes), values, device.put(given), out)
    expected = E4M3FNUZ.table.copy()
    expected[3::4] = E5M2FNUZ.table[3::4]
    np.testing.assert_array_equal(device.get(values, 256, "f4"), expected)
    packed = device.get(out, 256, "u1").reshape(64, 4)
    np.testing.assert_array_equal(packed[:, :2], finite.reshape(64, 4)[:, :2])
    bf8 = E5M2FNUZ.table[packed[:, 2:]]
    np.testing.assert_allclose(bf8, given.reshape(64, 4)[:, 2:], rtol=0.125)


def test_calls_when_lanes_call_different_functions(device: Device) -> None:
    values = random().random(128, dtype=np.float32)
    lane = np.arange(128)
    called = np.where(lane % 3 != 0, 2 * values, values * values)
    for first in (3, 4):  # the kernel changes a global variable, which outlives the launch
        out = device.put(np.zeros(128, np.float32))
        device.launch("calls", device.put(values), out, block=(128, 1, 1))
        table = np.array([first, 1, 4, 1])
        np.testing.assert_allclose(device.get(out, 128, "f4"), called * 2.5 + table[lane & 3], 1e-6)


def test_flat_access_when_lanes_point_to_lds_and_to_memory(device: Device) -> None:
    out = device.put(np.zeros(128, np.int32))
    device.launch("flat_lds", out, dynamic_lds_bytes=256)
    np.testing.assert_array_equal(device.get(out, 64, "i4"), np.arange(64) * 7)


def test_spin_when_one_wave_waits_for_another(device: Device) -> None:
    flag, out = device.put(np.zeros(1, np.uint32)), device.put(np.zeros(128, np.uint32))
    device.launch("spin", flag, out, block=(128, 1, 1))
    np.testing.assert_array_equal(device.get(out, 128, "u4"), [42] * 64 + [99] * 64)


def test_a_wild_read_is_refused_when_it_is_outside_every_allocation(device: Device) -> None:
    n = 200
    a = device.put(np.zeros(n, np.float32), "a")
    out = device.put(np.zeros(n, np.float32))
    with pytest.raises(DeviceFault) as caught:
        device.launch("add", a, a, out, n + 1, block=(256, 1, 1))
    text = str(caught.value)
    assert "of 4 bytes" in text
    assert "work-item 200" in text
    assert "0 bytes after the end of the allocation" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"kernel": "nothing"}, "there is no kernel 'nothing'", id="name"),
        pytest.param({"block": (1024, 1, 1)}, "1024 work-items in a workgroup", id="block"),
        pytest.param({"grid": (0, 1, 1)}, "must be 1 or more", id="grid"),
        pytest.param({"dynamic_lds_bytes": 65536}, "bytes of LDS, but there are 65536", id="lds"),
        pytest.param({"arguments": ()}, "0 arguments, but it takes 3", id="count"),
        pytest.param({"arguments": (b"", b"", b"")}, "argument 0 has 0 bytes, want 8", id="size"),
    ],
)
def test_a_launch_is_refused_when_it_contradicts_the_kernel(
    device: Device, change: dict[str, object], message: str
) -> None:
    good = Dispatch(
        code_object=device.code, kernel="reduce", grid=(1, 1, 1), block=(256, 1, 1),
        arguments=(bytes(8), bytes(8), bytes(4)),
    )  # fmt: skip
    with pytest.raises(LaunchError, match=message):
        run_dispatch(replace(good, **change), Memory())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flags", "is_kept"), [((), True), (("-fgpu-flush-denormals-to-zero",), False)]
)
def test_denormal_numbers_follow_the_mode_when_they_are_computed_with(
    folder: Path, flags: tuple[str, ...], is_kept: bool
) -> None:
    device = Device(code_object(KERNELS / "basics.hip", folder, OPTIMISED, *flags))
    values = np.full(64, 3e-39, np.float32)
    out = device.put(np.zeros(64, np.float32))
    device.launch("denormals", device.put(values), out)
    expected = values * np.float32(0.5) if is_kept else np.float32(-1)
    np.testing.assert_array_equal(device.get(out, 64, "f4"), expected)


def test_source_lines_are_named_when_there_is_debug_information(folder: Path) -> None:
    code = code_object(KERNELS / "basics.hip", folder, OPTIMISED, "-gline-tables-only")
    device = Device(code)
    a = device.put(np.zeros(8, np.float32))
    line = next(
        number
        for number, text in enumerate((KERNELS / "basics.hip").read_text("utf-8").splitlines(), 1)
        if "out[i] = a[i] + b[i];" in text
    )
    report = device.launch("add", a, a, a, 20, sanitize=True)
    assert {item.source for item in report.findings} == {f"basics.hip:{line}"}
    with pytest.raises(DeviceFault, match=f"^basics.hip:{line} workgroup 0, work-item 8: "):
        device.launch("add", a, a, a, 20)


def test_counters_add_up_when_a_launch_is_profiled(device: Device) -> None:
    n = 256
    values = device.put(np.ones(n, np.float32))
    out = device.put(np.zeros(1, np.float32))
    report = device.launch("reduce", values, out, n, block=(256, 1, 1), profile=True)
    assert report.counters is not None
    loads = [item for item in report.counters.memory if item.bytes_requested == 4 * n]
    assert [item.bytes_moved for item in loads] == [4 * n], "neighbours share lines"
    assert report.instructions == sum(report.mnemonics.values())
    assert report.counters.lds
    assert all(item.conflict_cycles == 0 for item in report.counters.lds)
    text = to_text(report)
    assert "reduce (emulated)" in text
    assert json.loads(json.dumps(to_json(report)))["source"] == "emulated"


def test_freed_memory_is_reported_when_a_kernel_still_reads_it(device: Device) -> None:
    a, out = device.put(np.zeros(64, np.float32), "a"), device.put(np.zeros(64, np.float32))
    device.memory.free(a)
    report = device.launch("add", a, out, out, 64, sanitize=True)
    (finding,) = report.findings
    assert finding.kind == "use-after-free"
    assert "inside the freed allocation 'a' of 256 bytes" in finding.detail
    assert finding.count == 64


def test_unwritten_memory_is_reported_when_a_kernel_reads_it(device: Device) -> None:
    a = device.memory.allocate(256, label="a")
    out = device.put(np.zeros(64, np.float32))
    report = device.launch("add", a, out, out, 64, sanitize=True)
    assert [item.kind for item in report.findings] == ["uninitialised-memory"]
    again = device.launch("add", out, out, out, 64, sanitize=True)
    assert again.findings == ()
