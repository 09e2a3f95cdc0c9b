"""Counters of kernels whose numbers are known by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.integration.device_code import KERNELS, Device, code_object
from tests.integration.emulated_gemm import TILE, gemm_code, make_operands, run_gemm

from kernelmill.emulator.errors import Stuck
from kernelmill.emulator.launch import Dispatch, run_dispatch
from kernelmill.emulator.profile import KernelProfile, add_up, to_json

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.emulator.report import DispatchReport

SOURCE = KERNELS / "counted.hip"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("counted")


@pytest.fixture
def device(folder: Path) -> Device:
    return Device(code_object(SOURCE, folder, "-O3", "-gline-tables-only"))


def line_of(text: str) -> str:
    lines = SOURCE.read_text("utf-8").splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if text in line)
    return f"counted.hip:{found}"


def profile_of(*reports: DispatchReport) -> KernelProfile:
    (found,) = add_up({"kernel": it.kernel, "profile": it.profile} for it in reports)
    return found


@pytest.mark.parametrize(
    ("kernel", "statement", "moved_by_a_wave"),
    [
        pytest.param("in_a_row", "out[i] = in[i];", 256, id="in-a-row"),
        pytest.param("line_each", "out[i] = in[i * 32];", 64 * 128, id="a-line-each"),
        pytest.param("one_value", "out[i] = *(", 128, id="one-value"),
    ],
)
def test_bytes_are_counted_when_lanes_spread_over_lines(
    device: Device, kernel: str, statement: str, moved_by_a_wave: int
) -> None:
    waves, launches = 3, 2
    values = np.arange(64 * waves * 32, dtype=np.float32)
    given, out = device.put(values), device.put(np.zeros(64 * waves, np.float32))
    profile = profile_of(
        *(
            device.launch(kernel, given, out, grid=(waves, 1, 1), profile=True)
            for _ in range(launches)
        )
    )
    load, store = profile.memory
    assert (load.access, store.access) == ("read", "write")
    assert load.source == store.source == line_of(statement)
    assert load.accesses == store.accesses == waves * launches
    assert load.bytes_requested == store.bytes_requested == 256 * waves * launches
    assert load.bytes_moved == moved_by_a_wave * waves * launches
    assert store.bytes_moved == 256 * waves * launches
    assert profile.launches == launches
    (found,) = (it for it in memory_json(profile) if it["access"] == "read")
    assert found["coalescing_modelled"] == 256 / moved_by_a_wave


def memory_json(profile: KernelProfile) -> list[dict[str, Any]]:
    document: dict[str, Any] = to_json([profile])
    assert (document["version"], document["source"]) == (1, "emulated")
    (kernel,) = document["kernels"]
    return list(kernel["memory"])


@pytest.mark.parametrize(
    ("kernel", "cycles", "conflicts"), [("one_bank", 64, 62), ("all_banks", 2, 0)]
)
def test_bank_conflicts_are_counted_when_rows_are_padded_or_not(
    device: Device, kernel: str, cycles: int, conflicts: int
) -> None:
    profile = profile_of(device.launch(kernel, device.put(np.zeros(64, np.float32)), profile=True))
    assert [it.access for it in profile.lds] == ["write", "read"]
    assert {(it.cycles, it.conflict_cycles) for it in profile.lds} == {(cycles, conflicts)}
    assert profile.lds[0].source == line_of("*place = (float)threadIdx.x;")


def test_operations_of_a_tile_are_2mnk_when_it_is_a_matrix_product(device: Device) -> None:
    steps = 5
    codes = np.zeros(64 * steps, np.int64)
    out = device.put(np.zeros(256, np.float32))
    report = device.launch("tile", device.put(codes), device.put(codes), out, steps, profile=True)
    profile = profile_of(report)
    assert profile.operations.matrix_flops == 2 * 16 * 16 * 32 * steps
    assert (profile.operations.vector_flops, profile.operations.integer) == (0, 0)
    moved = 2 * 512 * steps + 1024
    assert profile.bytes_moved == profile.bytes_requested == moved
    assert profile.flops_per_byte == 2 * 16 * 16 * 32 * steps / moved


def test_operations_on_integers_are_no_flops_when_counted(device: Device) -> None:
    codes = np.zeros(64, np.int64)
    out = device.put(np.zeros(256, np.int32))
    report = device.launch("byte_tile", device.put(codes), device.put(codes), out, profile=True)
    done = profile_of(report).operations
    assert (done.flops, done.integer) == (0, 2 * 16 * 16 * 32)


def test_vector_operations_count_with_all_lanes_when_one_wave_runs(device: Device) -> None:
    out = device.put(np.zeros(64, np.float32))
    profile = profile_of(device.launch("chain", out, 7, profile=True))
    assert profile.operations.vector_flops == 7 * 64 * 2
    assert profile.operations.matrix_flops == 0


@pytest.mark.parametrize(
    ("kernel", "lds_bytes", "waves", "limit"),
    [
        pytest.param("plain", 0, 8, "waves", id="nothing-scarce"),
        # 512 registers; 100 are 104 in steps of 8, and 512 // 104 is 4.
        pytest.param("vector_registers", 0, 4, "VGPR", id="vector-registers"),
        # 4 + 100 share the same 512.
        pytest.param("accumulators", 0, 4, "AGPR", id="accumulation-registers"),
        pytest.param("scalar_registers", 0, 7, "SGPR", id="scalar-registers"),
        # Of 64 KiB, 5 workgroups of one wave have 12 KiB each: on 4 SIMDs at most 2 on one.
        pytest.param("plain", 12 * 1024, 2, "LDS", id="lds"),
    ],
)
def test_occupancy_names_what_is_scarce_when_modelled(
    device: Device, kernel: str, lds_bytes: int, waves: int, limit: str
) -> None:
    out = device.put(np.zeros(64, np.int32))
    report = device.launch(kernel, out, dynamic_lds_bytes=lds_bytes, profile=True)
    (found,) = profile_of(report).configurations
    assert (found.bound.waves_per_simd, found.bound.limited_by) == (waves, limit)
    assert found.resources.lds_bytes == lds_bytes


def test_launches_of_other_sizes_are_kept_apart_when_occupancy_differs(device: Device) -> None:
    out = device.put(np.zeros(64, np.int32))
    profile = profile_of(
        *(
            device.launch("plain", out, dynamic_lds_bytes=size, profile=True)
            for size in (0, 32 * 1024, 0)
        )
    )
    assert [
        (it.launches, it.resources.lds_bytes, it.bound.workgroups_per_cu)
        for it in profile.configurations
    ] == [(2, 0, 32), (1, 32 * 1024, 2)]


def test_flagship_multiplies_whole_tiles_when_profiled(folder: Path) -> None:
    m, n, k = 130, 140, 150
    padded = [-(-size // TILE) * TILE for size in (m, n, k)]
    _, report = run_gemm(gemm_code(folder), make_operands(m, n, k), profile=True)
    assert profile_of(report).operations.matrix_flops == 2 * padded[0] * padded[1] * padded[2]


def test_nothing_is_counted_when_nobody_asked(device: Device) -> None:
    report = device.launch("plain", device.put(np.zeros(64, np.int32)))
    assert (report.counters, report.resources, report.profile) == (None, None, None)


@pytest.mark.parametrize("sanitize", [False, True])
def test_kernel_is_stopped_when_it_waits_for_a_later_workgroup(
    device: Device, *, sanitize: bool
) -> None:
    flag = device.put(np.zeros(1, np.uint32))
    many = 20_000  # more than one batch: registers of 8 vectors are 2 KiB a wave
    dispatch = Dispatch(
        code_object=device.code, kernel="wait_for_later", grid=(many, 1, 1), block=(64, 1, 1),
        arguments=(flag.to_bytes(8, "little"),),
    )  # fmt: skip
    with pytest.raises(Stuck) as caught:
        run_dispatch(dispatch, device.memory, sanitize=sanitize, max_steps=50_000)
    text = str(caught.value)
    assert "50,000 instructions since a wave ended last, now at 0x" in text
    assert f"{line_of('while (__hip_atomic_load')} workgroup 0, wave 0: " in text
    assert "does it wait for a workgroup that comes later?" in text
