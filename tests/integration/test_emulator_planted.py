"""Every fault planted in a kernel is reported, with the right kind; clean kernels give nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.integration import planted
from tests.integration.device_code import KERNELS, Device, code_object, compile_device_code
from tests.integration.emulated_gemm import (
    SOURCE,
    TOLERANCE,
    gemm_code,
    largest_error,
    make_operands,
    run_gemm,
)

from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.disassembly import disassemble_kernel
from kernelmill.emulator.errors import DeviceFault

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.planted import Fault

    from kernelmill.binary.code_object import CodeObject
    from kernelmill.binary.disassembly import Instruction

Check = Callable[["CodeObject"], set[str]]
"""Run a kernel sanitized; return the kinds of findings, and ``wrong-result``."""
CHECKED = KERNELS / "checked.hip"
NO_OPERATION = 0xBF80_0000


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planted")


def check_reduce(code: CodeObject) -> set[str]:
    n, device = 900, Device(code)  # the last wave of the last workgroup has nothing to do
    values = np.random.default_rng(1).integers(-50, 50, n).astype(np.float32)
    out = device.put(np.zeros(4, np.float32), "out")
    report = device.launch(
        "reduce", device.put(values, "in"), out, n, grid=(4, 1, 1), block=(256, 1, 1), sanitize=True
    )
    expected = np.pad(values, (0, 124)).reshape(4, 256).sum(axis=1)
    is_right = np.array_equal(device.get(out, 4, "f4"), expected)
    return {item.kind for item in report.findings} | (set() if is_right else {planted.WRONG})


def check_transpose(code: CodeObject) -> set[str]:
    rows, cols, device = 45, 70, Device(code)
    values = np.random.default_rng(2).random((rows, cols), dtype=np.float32)
    out = device.put(np.zeros(rows * cols, np.float32), "out")
    report = device.launch(
        "transpose", device.put(values, "in"), out, rows, cols,
        grid=(3, 2, 1), block=(32, 8, 1), sanitize=True,
    )  # fmt: skip
    is_right = np.array_equal(device.get(out, rows * cols, "f4").reshape(cols, rows), values.T)
    return {item.kind for item in report.findings} | (set() if is_right else {planted.WRONG})


def check_stencil(code: CodeObject) -> set[str]:
    rows, cols, device = 45, 39, Device(code)
    values = np.random.default_rng(3).random((rows, cols), dtype=np.float32)
    out = device.put(np.zeros(rows * cols, np.float32), "out")
    report = device.launch(
        "stencil", device.put(values, "in"), out, rows, cols,
        grid=(3, 3, 1), block=(16, 16, 1), sanitize=True,
    )  # fmt: skip
    wide = np.pad(values, 1)
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    found = device.get(out, rows * cols, "f4").reshape(rows, cols)
    is_right = np.allclose(found, (values + around) * np.float32(0.2), rtol=1e-5)
    return {item.kind for item in report.findings} | (set() if is_right else {planted.WRONG})


def check_gemm(code: CodeObject) -> set[str]:
    kinds: set[str] = set()
    for (m, n, k), layouts in (((100, 60, 300), "kk"), ((130, 140, 128), "xk")):
        operands = make_operands(m, n, k)
        found, report = run_gemm(code, operands, layouts=layouts, sanitize=True)
        kinds |= {item.kind for item in report.findings}
        if not largest_error(found, operands.expected) < TOLERANCE:
            kinds.add(planted.WRONG)
    return kinds


def plant(fault: Fault, source: Path, folder: Path) -> CodeObject:
    """Return the kernel compiled with a fault in it."""
    changed = folder / f"{source.stem}-{abs(hash(fault))}.hip"
    changed.write_text(fault.plant(source.read_text("utf-8")), "utf-8")
    data = compile_device_code(changed, folder, "-O3", f"-I{SOURCE.parent}")
    return read_code_objects(data)[0]


CASES = [
    pytest.param(
        check,
        source,
        fault,
        id=f"{name}-{fault.name}",
        marks=[pytest.mark.long] if source == SOURCE else [],
    )
    for name, check, source, faults in (
        ("reduce", check_reduce, CHECKED, planted.REDUCE),
        ("transpose", check_transpose, CHECKED, planted.TRANSPOSE),
        ("stencil", check_stencil, CHECKED, planted.STENCIL),
        ("gemm", check_gemm, SOURCE, planted.GEMM),
    )
    for fault in faults
]


@pytest.mark.parametrize("optimisation", ["-O3", "-O1", "-O0"])
@pytest.mark.parametrize("check", [check_reduce, check_transpose, check_stencil])
def test_nothing_is_reported_when_a_kernel_is_clean(
    check: Check, optimisation: str, folder: Path
) -> None:
    assert check(code_object(CHECKED, folder, optimisation)) == set()


@pytest.mark.parametrize(("check", "source", "fault"), CASES)
def test_a_fault_is_reported_when_it_is_planted_in_the_source(
    check: Check, source: Path, fault: Fault, folder: Path
) -> None:
    try:
        found = check(plant(fault, source, folder))
    except DeviceFault as error:
        pytest.fail(f"the launch stopped: {error}")
    assert found & set(fault.kinds), f"found {sorted(found)}"


def wait_sites(code: CodeObject, kernel: str) -> list[Instruction]:
    """Return the ``s_waitcnt`` of a kernel."""
    chosen = next(item for item in code.kernels if item.name == kernel)
    return [item for item in disassemble_kernel(code, chosen) if item.mnemonic == "s_waitcnt"]


def without(code: CodeObject, site: Instruction) -> CodeObject:
    """Return the code with an instruction of four bytes made one that does nothing."""
    data = bytearray(code.elf.data)
    place = code.elf.offset_of(site.address, "the instruction")
    data[place : place + 4] = NO_OPERATION.to_bytes(4, "little")
    return read_code_objects(bytes(data))[0]


@pytest.mark.parametrize(
    ("kernel", "check"),
    [("reduce", check_reduce), ("transpose", check_transpose), ("stencil", check_stencil)],
)
def test_a_wait_is_missed_when_it_is_removed_from_the_machine_code(
    kernel: str, check: Check, folder: Path
) -> None:
    code = code_object(CHECKED, folder, "-O3")
    sites = wait_sites(code, kernel)
    assert len(sites) > 2
    survivors = [str(s) for s in sites if "missing-wait" not in check(without(code, s))]
    assert survivors == []


@pytest.mark.long
def test_waits_are_missed_when_they_are_removed_from_the_flagship(folder: Path) -> None:
    code = gemm_code(folder)
    sites = wait_sites(code, code.kernels[0].name)
    survivors = [s for s in sites if "missing-wait" not in check_gemm(without(code, s))]
    # Some are not needed on any way through the code, only by the compiler's coarser bookkeeping.
    assert len(survivors) <= len(sites) * 0.1, [hex(s.address) for s in survivors]
