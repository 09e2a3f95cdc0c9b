"""Run every benchmark: ``python -m benchmarks``. Reports go to ``reports/`` as JSON."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
REPORTS: Final = ROOT / "reports"


def main() -> int:
    """Time flagship, resolver, Hub, loading and emulator; return how many benchmarks failed."""
    REPORTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        gemm = Path(folder) / "gemm"
        shutil.copytree(ROOT / "examples" / "gemm", gemm, ignore=shutil.ignore_patterns("build"))
        failed = run("-m", "kernelmill.builder", "build", str(gemm), "--backend", "cpu")
        failed += run(
            *(str(gemm / "benchmarks" / "benchmark.py"), str(gemm)),
            *("--json", str(REPORTS / "gemm.json")),
        )
    for name in ("spec", "hub", "loading", "emulator", "builder", "caches"):
        report = str(REPORTS / f"{name}.json")
        failed += run("-m", f"benchmarks.{name}", "--json", report)
    return failed


def run(*command: str) -> int:
    """Run one Python command and return 1 when it fails, else 0."""
    return int(subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
