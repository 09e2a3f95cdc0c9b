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


def measure(code: CodeObject, shape: tuple[int, int, int], repeat: int) -> dict[str, object]:
    """Return median seconds, plain and sanitized, and instructions per second."""
    operands = make_operands(*shape)
    found, report = run_gemm(code, operands)
    error = largest_error(found, operands.expected)
    if error >= TOLERANCE:
        raise SystemExit(f"{shape}: wrong by {error:.2e}")
    plain = [report.seconds, *(run_gemm(code, operands)[1].seconds for _ in range(repeat - 1))]
    checked = [run_gemm(code, operands, sanitize=True)[1] for _ in range(max(repeat // 2, 1))]
    assert all(item.findings == () for item in checked)
    seconds, sanitized = median(plain), median(item.seconds for item in checked)
    return {
        "shape": list(shape),
        "largest_error": error,
        "instructions": report.instructions,
        "emulator_seconds": seconds,
        "sanitized_seconds": sanitized,
        "sanitizer_factor": sanitized / seconds,
        "instructions_per_second": report.instructions / seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False, description=__doc__)
    parser.add_argument("--shape", type=int, nargs=3, action="append", metavar=("M", "N", "K"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    shapes = [tuple(shape) for shape in args.shape or SHAPES]
    with tempfile.TemporaryDirectory() as folder:
        code = gemm_code(Path(folder))
        rows = [measure(code, shape, args.repeat) for shape in shapes]
    for row in rows:
        m, n, k = row["shape"]
        print(
            f"{m} x {n} x {k}: {row['emulator_seconds']:.2f} s, {row['sanitized_seconds']:.2f} s"
            f" sanitized ({row['sanitizer_factor']:.1f} x),"
            f" {row['instructions_per_second'] / 1e6:.2f} M instructions of a wave per second"
        )
    if args.json:
        host = {"machine": platform.machine(), "cpus": os.cpu_count()}
        result = {"version": 1, "source": "emulated", "host": host, "rows": rows}
        temporary = args.json.with_name(f"{args.json.name}.tmp")
        temporary.write_text(json.dumps(result, indent=2, sort_keys=True) + "\n", "utf-8")
        temporary.replace(args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
