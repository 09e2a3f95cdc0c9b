"""Time the choice among 10,000 variants: ``python -m benchmarks.spec [--json FILE]``.

The peer is the ``kernels`` package from PyPI in an environment of its own (``make
.venv-peer/ready``). Both read the same names, choose for the same made-up machine, and must choose
the same build. They take turns, each time in a new process, so that both meet the same load.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
COUNT: Final = 10_000
ROUNDS: Final = 5
REPEATS: Final = 5
LIMIT_MS: Final = 50.0
"""For the median of a process's first choice, in time of the processor."""

TIMING: Final = f"""
import json, sys, time
names = json.load(sys.stdin)
wall, cpu = [], []
for _ in range({REPEATS}):
    started, cpu_started = time.perf_counter(), time.process_time()
    chosen = choose(names)
    cpu.append((time.process_time() - cpu_started) * 1e3)
    wall.append((time.perf_counter() - started) * 1e3)
print(json.dumps({{"chosen": chosen, "wall_ms": wall, "cpu_ms": cpu}}))
"""
OURS: Final = (
    """
from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Host
from kernelmill.spec.resolve import resolve
from kernelmill.spec.version import parse_release

host = Host(
    cpu="x86_64", os="linux", backend=Backend.CUDA, backend_version=(13, 0), cxx11_abi=True,
    torch=parse_release("2.13.0", what="PyTorch"), python=(3, 11),
)

def choose(names):
    resolution = resolve(names, host)
    assert len(resolution.trace) == len(names)
    return str(resolution.chosen)
"""
    + TIMING
)
PEER: Final = (
    """
from kernels.backends import CUDA
from kernels.variants import _resolve_variant_for_system, parse_variant
from packaging.version import Version

def choose(names):
    found, trace = _resolve_variant_for_system(
        variants=[parse_variant(name) for name in names],
        selected_backend=CUDA(version=Version("13.0")), cpu="x86_64", os="linux",
        torch_version=Version("2.13"), torch_cxx11_abi=True, tvm_ffi_version=None,
    )
    assert len(trace) == len(names)
    return found[0].variant_str
"""
    + TIMING
)


def variant_names() -> list[str]:
    """Return as many names as are asked for, in no order; the same ones each time."""
    frameworks = [
        *(f"torch2{minor}{tag}" for minor in range(40) for tag in ("", "-cxx11", "-cxx98")),
        *(f"torch-stable-abi2{minor}" for minor in range(9, 30)),
    ]
    computes = [f"cu{digits}" for digits in (118, 121, 124, 126, 128, 129, 130, 132)]
    computes += ["cpu", "metal", "xpu20252", *(f"rocm{digits}" for digits in (62, 63, 64, 70, 71))]
    names = [
        "-".join(parts)
        for parts in product(
            frameworks, computes, ("x86_64", "aarch64"), ("linux", "windows", "darwin")
        )
    ]
    random.Random(0).shuffle(names)
    best = "torch-stable-abi213-cu130-x86_64-linux"
    return [best, *(name for name in names if name != best)][:COUNT]


def time_choice(python: Path, code: str, names: list[str]) -> dict[str, list[float]]:
    """Return what choosing took in one new process, in milliseconds."""
    env = dict(os.environ)
    if code is PEER:
        env.pop("PYTHONPATH", None)  # would bring our package of the same name
    done = subprocess.run(
        [python, "-c", code],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    report: dict[str, list[float]] = json.loads(done.stdout)
    if str(report.pop("chosen")) != names[0]:
        raise RuntimeError(f"{python} chose another build")
    return report


def summary(reports: list[dict[str, list[float]]]) -> dict[str, float]:
    """Return medians and extremes over the processes: of the first choice, and of the others."""
    first_wall = [it["wall_ms"][0] for it in reports]
    first_cpu = [it["cpu_ms"][0] for it in reports]
    later = [value for it in reports for value in it["cpu_ms"][1:]]
    values = {
        "first_ms": statistics.median(first_wall),
        "first_cpu_ms": statistics.median(first_cpu),
        "first_cpu_least_ms": min(first_cpu),
        "first_cpu_most_ms": max(first_cpu),
        "later_cpu_ms": statistics.median(later),
    }
    return {key: round(value, 1) for key, value in values.items()}


def main() -> int:
    """Measure, print a table, and write JSON when asked to; return 1 when the limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--peer", type=Path, default=ROOT / ".venv-peer" / "bin" / "python")
    args = parser.parse_args()
    names, ours, theirs = variant_names(), [], []
    for _ in range(ROUNDS):
        ours.append(time_choice(Path(sys.executable), OURS, names))
        if args.peer.exists():
            theirs.append(time_choice(args.peer, PEER, names))
    mine = summary(ours)
    peer = summary(theirs) if theirs else None
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    load = os.getloadavg()[0]
    print(f"choosing among {len(names)} variants, {ROUNDS} processes, load {load:.1f}")
    for key, value in mine.items():
        versus = f"{peer[key]:>10} peer{value / peer[key]:>8.3f} ratio" if peer else ""
        print(f"{key:20}{value:>10} ours{versus}")
    if peer is None:
        print(f"no peer at {args.peer}: run make .venv-peer/ready")
    if args.json:
        report = {"version": 1, "variants": len(names), "limit_ms": LIMIT_MS, "kernelmill": mine}
        report |= {"cores": os.cpu_count(), "load": load, "peer": peer}
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(mine["first_cpu_ms"] > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
