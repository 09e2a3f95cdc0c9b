"""Launch the gfx942 kernel of ``examples/gemm`` in the emulator, without its host side."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from tests.integration.device_code import Device, code_object

from kernelmill.emulator.fp8 import E4M3FNUZ

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernelmill.binary.code_object import CodeObject
    from kernelmill.emulator.report import DispatchReport

SOURCE: Final = Path(__file__).parents[2] / "examples" / "gemm" / "gemm" / "gemm_gfx942.hip"
TILE: Final = 128
SCALE_BLOCK: Final = 128
FNUZ: Final = 1
TOLERANCE: Final = 2.0**-8
"""Of bfloat16, relative to the largest element: half a unit in the last place is 2 ** -9."""


@dataclass(frozen=True, kw_only=True)
class Operands:
    """The inputs of one product, and what it should give."""

    a: NDArray[np.uint8]
    b: NDArray[np.uint8]
    a_scale: NDArray[np.float32]
    b_scale: NDArray[np.float32]

    @property
    def expected(self) -> NDArray[np.float64]:
        """Return the product in float64: [M, N]."""
        table = E4M3FNUZ.table
        total = np.zeros((self.a.shape[1], self.b.shape[1]))
        for step in range(len(self.a_scale)):
            part = slice(step * SCALE_BLOCK, (step + 1) * SCALE_BLOCK)
            columns = np.repeat(self.b_scale[step], SCALE_BLOCK)[: self.b.shape[1]]
            product = table[self.a[part]].astype(np.float64).T @ table[self.b[part]]
            total += product * self.a_scale[step][:, None] * columns
        return total


def make_operands(m: int, n: int, k: int, seed: int = 0) -> Operands:
    """Return random operands: all codes but NaN."""
    random = np.random.default_rng(seed)
    a, b = (random.integers(0, 255, (k, x), dtype=np.uint8) for x in (m, n))
    for codes in (a, b):
        codes[codes == 0x80] = 0xFF
    steps = -(-k // SCALE_BLOCK)
    a_scale = random.random((steps, m), dtype=np.float32) + np.float32(0.5)
    b_scale = random.random((steps, -(-n // SCALE_BLOCK)), dtype=np.float32) + np.float32(0.5)
    return Operands(a=a, b=b, a_scale=a_scale, b_scale=b_scale)


def gemm_code(folder: Path, source: Path = SOURCE) -> CodeObject:
    """Return the compiled kernel."""
    return code_object(source, folder, "-O3", f"-I{SOURCE.parent}")


def run_gemm(
    code: CodeObject,
    operands: Operands,
    *,
    layouts: str = "kk",
    sanitize: bool = False,
    profile: bool = False,
) -> tuple[NDArray[np.float32], DispatchReport]:
    """Return the product and the launch's report.

    Args:
        code: of the kernel.
        operands: of the product.
        layouts: of a and b: ``k`` if neighbours in memory are neighbours along K, else ``x``.
        sanitize: see ``run_dispatch``.
        profile: see ``run_dispatch``.
    """
    device = Device(code)
    (k, m), n = operands.a.shape, operands.b.shape[1]
    out = device.memory.allocate(m * n * 2, label="out")
    problem = struct.pack("<qqqi4x", m, n, k, FNUZ)
    for codes, layout, label in ((operands.a, layouts[0], "a"), (operands.b, layouts[1], "b")):
        along_k = layout == "k"
        address = device.put(codes.T if along_k else codes, label)
        strides = (1, k) if along_k else (codes.shape[1], 1)
        problem += struct.pack("<Qqq", address, *strides)
    for scale, label in ((operands.a_scale, "a_scale"), (operands.b_scale, "b_scale")):
        problem += struct.pack("<Qqq", device.put(scale, label), scale.shape[1], 1)
    problem += struct.pack("<Qq", out, n)
    grid = (-(-m // TILE), -(-n // TILE), 1)
    report = device.launch(
        code.kernels[0].name, problem, 0, 0, grid=grid, block=(512, 1, 1),
        sanitize=sanitize, profile=profile,
    )  # fmt: skip
    bits = device.memory.view(out, m * n * 2).view(np.uint16).astype(np.uint32) << np.uint32(16)
    return bits.view(np.float32).reshape(m, n), report


def largest_error(found: NDArray[np.float32], expected: NDArray[np.float64]) -> float:
    """Return the largest difference, relative to the largest element."""
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30))
