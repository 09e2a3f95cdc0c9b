"""Time the emulator on the flagship's gfx942 kernel: ``python benchmarks/emulator.py``.

Seconds are those of this computer. They say nothing of a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.integration.emulated_gemm import (  # noqa: E402 - a script has no package
    TOLERANCE,
    Operands,
    gemm_code,
    largest_error,
    make_operands,
    run_gemm,
)

if TYPE_CHECKING:
    from kernelmill.binary.code_object import CodeObject

SMALL: Final = (256, 256, 256)
LARGE: Final = (1024, 1536, 7168)
REPEATS: Final = 5
LIMITS: Final = {"256^3": 2.0, "1024x1536x7168": 60.0}
"""Seconds."""
TARGETS: Final = {"256^3": 2.0, "1024x1536x7168": 20.0}
MOST_RATIO: Final = 3.0


def measure(
    code: CodeObject, operands: Operands, repeats: int, *, sanitize: bool = False
) -> dict[str, float]:
    """Return seconds (median, least, most; of the processor) and instructions per second.

    The answer is checked.
    """
    seconds, cpu_seconds, instructions = [], [], 0
    for _ in range(repeats):
        started = time.process_time()
        found, report = run_gemm(code, operands, sanitize=sanitize)
        cpu_seconds.append(time.process_time() - started)
        assert largest_error(found, operands.expected) < TOLERANCE
        assert report.findings == ()
        seconds.append(report.seconds)
        instructions = report.instructions
    median = statistics.median(seconds)
    return {
        "median_s": round(median, 3),
        "least_s": round(min(seconds), 3),
        "most_s": round(max(seconds), 3),
        "cpu_s": round(min(cpu_seconds), 3),
        "repeats": repeats,
        "wave_instructions": instructions,
        "wave_instructions_per_s": round(instructions / median),
        "load": round(os.getloadavg()[0], 2),
    }


def measure_all(*, with_large: bool) -> dict[str, dict[str, float]]:
    """Return what each run took. Every launch decodes the kernel anew, and that is counted."""
    with tempfile.TemporaryDirectory() as folder:
        code = gemm_code(Path(folder))
    small = make_operands(*SMALL)
    measure(code, small, 1)  # to warm up
    results = {
        "256^3": measure(code, small, REPEATS),
        "256^3 sanitized": measure(code, small, REPEATS, sanitize=True),
    }
    if with_large:
        results["1024x1536x7168"] = measure(code, make_operands(*LARGE), 1)
    return results


def main() -> int:
    """Measure, print a table, and write JSON when asked to; the status is 1 past a limit."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--small", action="store_true", help="256^3 only")
    args = parser.parse_args()
    results = measure_all(with_large=not args.small)
    # Of the processor: others that run at the same time do not count.
    ratio = results["256^3 sanitized"]["cpu_s"] / results["256^3"]["cpu_s"]
    print(f"{platform.machine()}, {os.cpu_count()} cores; emulated gfx942, never a time of a GPU")
    print(f"{'':18}{'median s':>10}{'least':>8}{'most':>8}{'cpu s':>8}{'limit':>8}{'target':>8}"
          f"{'instructions/s':>16}{'load':>7}")  # fmt: skip
    for name, item in results.items():
        limits = f"{LIMITS.get(name, 0) or '':>8}{TARGETS.get(name, 0) or '':>8}"
        times = f"{item['median_s']:>10}{item['least_s']:>8}{item['most_s']:>8}{item['cpu_s']:>8}"
        print(f"{name:18}{times}{limits}{item['wave_instructions_per_s']:>16,}{item['load']:>7}")
    print(f"sanitized / plain: {ratio:.2f}, at most {MOST_RATIO}")
    if args.json:
        report = {
            "version": 1, "source": "emulated gfx942", "cores": os.cpu_count(),
            "machine": platform.machine(), "python": platform.python_version(),
            "sanitized_ratio": round(ratio, 2), "limits_s": LIMITS, "targets_s": TARGETS,
            "runs": results,
        }  # fmt: skip
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    present = {name: limit for name, limit in LIMITS.items() if name in results}
    is_slow = any(results[name]["least_s"] > limit for name, limit in present.items())
    return int(is_slow or ratio > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
