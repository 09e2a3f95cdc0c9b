"""Time builds for the CPU: cold against PyTorch's own builder, with ccache, again, and `--help`.

The kernel is `examples/relu`, against PyTorch's full C++ interface; its two sources are what
`torch.utils.cpp_extension.load` compiles too, in the same run and with as many compilers at once.
Both run with bytecode at hand, as installed packages do. Times are those of a clock, so what else
the machine does is in them: the load is printed, and the processor's time beside each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

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
        load = [os.getloadavg()[0]]
        found = measure(Path(folder))
        load.append(os.getloadavg()[0])
    times = {name: it.wall for name, it in found.items()}
    cpu = {name: it.cpu for name, it in found.items()}
    print(f"{os.cpu_count()} cores, load {load[0]:.1f} before and {load[1]:.1f} after")
    for name, seconds in times.items():
        limit = f"  (at most {LIMITS[name]} s)" if name in LIMITS else ""
        print(f"{name:14} {seconds:7.2f} s, {cpu[name]:6.2f} s of processor{limit}")
    missed = [name for name, limit in LIMITS.items() if name in times and times[name] > limit]
    missed += ["cold_s"] if times["cold_s"] > times["peer_cold_s"] else []
    print(f"missed: {', '.join(missed)}" if missed else "every budget is kept")
    document = {"version": 1, "seconds": times, "cpu": cpu, "load": load, "missed": missed}
    if args.json:
        args.json.write_text(json.dumps(document))
    return int(bool(missed))


class Seconds(NamedTuple):
    """What something took."""

    wall: float
    cpu: float
    """Of all its processes."""


def measure(folder: Path) -> dict[str, Seconds]:
    """Return name -> times: medians where something is repeated."""
    kernel = folder / "relu"
    shutil.copytree(EXAMPLE, kernel, ignore=shutil.ignore_patterns("build", ".kernelmill"))
    shutil.copytree(ROOT / "src/kernelmill/builder/templates/project/torch-ext", kernel / "header")
    env = {
        **{name: it for name, it in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "CCACHE_DIR": str(folder / "ccache"),
        "KERNELMILL_SDKS": str(folder / "sdks"),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    build = [sys.executable, "-m", "kernelmill.builder", "build", str(kernel), "--backend", "cpu"]
    (folder / "peer").mkdir()
    peer = [sys.executable, "-c", PEER, str(kernel), str(folder / "peer")]
    # Fills ccache, where there is one, and brings bytecode and headers into memory.
    timed(build, env)
    fresh(kernel)
    times = {
        "cold_s": timed(build, {**env, "CCACHE_DISABLE": "1"}),
        "peer_cold_s": timed(peer, env),
    }
    fresh(kernel)
    timed(build, env)
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


def median(run: Callable[[], Seconds], *, before: Callable[[], None] | None = None) -> Seconds:
    """Return the median of several runs."""
    found: list[Seconds] = []
    for _ in range(REPEATS):
        if before:
            before()
        found.append(run())
    return Seconds(
        statistics.median(it.wall for it in found), statistics.median(it.cpu for it in found)
    )


def timed(command: list[str], env: Mapping[str, str]) -> Seconds:
    """Return how long a command takes, which must not fail."""
    started, used = time.perf_counter(), cpu_seconds()
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} failed:\n{done.stdout}{done.stderr}")
    return Seconds(time.perf_counter() - started, cpu_seconds() - used)


def cpu_seconds() -> float:
    """Return what all ended child processes used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
