"""Time builds for the CPU: cold against PyTorch's own builder, with ccache, again, and `--help`.

The kernel is `examples/relu`, against PyTorch's full C++ interface; its two sources are what
`torch.utils.cpp_extension.load` compiles too, in the same run and with as many compilers at once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLE: Final = ROOT / "examples" / "relu"
REPEATS: Final = 5
LIMITS: Final = {"warm_s": 1.5, "configure_s": 1.0, "no_op_s": 1.0, "help_s": 0.15}
PEER: Final = """
import sys
from torch.utils.cpp_extension import load
root, folder = sys.argv[1:]
load(
    "relu_peer", [f"{root}/torch-ext/binding.cpp", f"{root}/relu/relu_cpu.cpp"],
    extra_cflags=["-O3", "-DCPU_KERNEL", "-DTORCH_EXTENSION_NAME=relu_peer"],
    extra_include_paths=[f"{root}/relu", f"{root}/header"], build_directory=folder,
)
"""


def main() -> int:
    """Print the table, write the JSON report, and fail when a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = measure(Path(folder))
    for name, seconds in times.items():
        limit = f"  (at most {LIMITS[name]} s)" if name in LIMITS else ""
        print(f"{name:14} {seconds:7.2f} s{limit}")
    missed = [name for name, limit in LIMITS.items() if name in times and times[name] > limit]
    missed += ["cold_s"] if times["cold_s"] > times["peer_cold_s"] else []
    print(f"missed: {', '.join(missed)}" if missed else "every budget is kept")
    if args.json:
        args.json.write_text(json.dumps({"version": 1, "seconds": times, "missed": missed}))
    return int(bool(missed))


def measure(folder: Path) -> dict[str, float]:
    """Return name -> seconds: medians where something is repeated."""
    kernel = folder / "relu"
    shutil.copytree(EXAMPLE, kernel, ignore=shutil.ignore_patterns("build", ".kernelmill"))
    shutil.copytree(ROOT / "src/kernelmill/builder/templates/project/torch-ext", kernel / "header")
    env = {**os.environ, "CCACHE_DIR": str(folder / "ccache")}
    build = [sys.executable, "-m", "kernelmill.builder", "build", str(kernel), "--backend", "cpu"]
    (folder / "peer").mkdir()
    peer = [sys.executable, "-c", PEER, str(kernel), str(folder / "peer")]
    times = {
        "peer_cold_s": timed(peer, env),
        "cold_s": timed(build, {**env, "CCACHE_DISABLE": "1"}),
    }
    fresh(kernel)
    timed(build, env)  # fills ccache, where there is one
    if shutil.which("ccache", path=f"{Path(sys.executable).parent}:{env['PATH']}"):
        times["warm_s"] = median(lambda: timed(build, env), before=lambda: fresh(kernel))
    times["no_op_s"] = median(lambda: timed(build, env))
    times["configure_s"] = median(lambda: timed(configure_command(kernel, folder), env))
    times["help_s"] = median(
        lambda: timed([sys.executable, "-m", "kernelmill.builder", "--help"], env)
    )
    return times


def configure_command(kernel: Path, folder: Path) -> list[str]:
    """Return the first command of the last build, for a folder of its own that is empty."""
    target = folder / "configured"
    shutil.rmtree(target, ignore_errors=True)
    (log,) = kernel.glob(".kernelmill/*/build.log")
    project = log.parent / "project"
    scripts = Path(sys.executable).parent
    cmake = shutil.which("cmake", path=f"{scripts}:{os.environ['PATH']}") or "cmake"
    ninja = shutil.which("ninja", path=f"{scripts}:{os.environ['PATH']}") or "ninja"
    return [
        *(cmake, "-S", str(project), "-B", str(target), "-G", "Ninja"),
        *(f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DPython3_EXECUTABLE={sys.executable}"),
        *(f"-DKERNEL_ROOT={kernel}", "-DKERNEL_BACKEND=cpu"),
    ]


def fresh(kernel: Path) -> None:
    """Remove what was built."""
    shutil.rmtree(kernel / ".kernelmill", ignore_errors=True)
    shutil.rmtree(kernel / "build", ignore_errors=True)


def median(run: Callable[[], float], *, before: Callable[[], None] | None = None) -> float:
    """Return the median of several runs."""
    found: list[float] = []
    for _ in range(REPEATS):
        if before:
            before()
        found.append(run())
    return statistics.median(found)


def timed(command: list[str], env: Mapping[str, str]) -> float:
    """Return how long a command takes, which must not fail."""
    started = time.perf_counter()
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
