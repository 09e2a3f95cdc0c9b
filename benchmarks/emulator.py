"""How fast the emulator runs the flagship's gfx942 kernel on this computer, answers checked first.

    python benchmarks/emulator.py [--shape 1024 1536 7168] [--repeat 3] [--json FILE]

The seconds are this computer's. They say nothing of a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "src")]

from tests.integration.emulated_gemm import (  # noqa: E402 - after the path
    TOLERANCE,
    gemm_code,
    largest_error,
    make_operands,
    run_gemm,
)

if TYPE_CHECKING:
    from kernelmill.binary.code_object import CodeObject

SHAPES = ((256, 256, 256), (1024, 1536, 1024))


@dataclass(frozen=True, kw_only=True)
class Row:
    """One shape."""

    shape: tuple[int, int, int]
    largest_error: float
    instructions: int
    emulator_seconds: float
    sanitized_seconds: float

    def __str__(self) -> str:
        factor = self.sanitized_seconds / self.emulator_seconds
        rate = self.instructions / self.emulator_seconds / 1e6
        return (
            f"{' x '.join(map(str, self.shape))}: {self.emulator_seconds:.2f} s,"
            f" {self.sanitized_seconds:.2f} s sanitized ({factor:.1f} x),"
            f" {rate:.2f} M instructions of a wave per second"
        )


def measure(code: CodeObject, shape: tuple[int, int, int], repeat: int) -> Row:
    """Return median seconds, plain and sanitized, and instructions per second."""
    operands = make_operands(*shape)
    found, report = run_gemm(code, operands)
    error = largest_error(found, operands.expected)
    if error >= TOLERANCE:
        raise SystemExit(f"{shape}: wrong by {error:.2e}")
    plain = [report.seconds, *(run_gemm(code, operands)[1].seconds for _ in range(repeat - 1))]
    checked = [run_gemm(code, operands, sanitize=True)[1] for _ in range(max(repeat // 2, 1))]
    assert all(item.findings == () for item in checked)
    return Row(
        shape=shape,
        largest_error=error,
        instructions=report.instructions,
        emulator_seconds=median(plain),
        sanitized_seconds=median(item.seconds for item in checked),
    )


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False, description=__doc__)
    parser.add_argument("--shape", type=int, nargs=3, action="append", metavar=("M", "N", "K"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    shapes = [(m, n, k) for m, n, k in args.shape or SHAPES]
    with tempfile.TemporaryDirectory() as folder:
        code = gemm_code(Path(folder))
        rows = [measure(code, shape, args.repeat) for shape in shapes]
    print(*rows, sep="\n")
    if args.json:
        host = {"machine": platform.machine(), "cpus": os.cpu_count()}
        result = {"version": 1, "source": "emulated", "host": host, "rows": list(map(asdict, rows))}
        temporary = args.json.with_name(f"{args.json.name}.tmp")
        temporary.write_text(json.dumps(result, indent=2, sort_keys=True) + "\n", "utf-8")
        temporary.replace(args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
