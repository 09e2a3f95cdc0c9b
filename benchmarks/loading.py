"""Time loading against Hugging Face's ``kernels``: ``python -m benchmarks.loading [--json FILE]``.

Both load the same kernel from the same Hub on loopback, in turns, each process anew, and the answer
is checked. PyTorch is imported before the clock starts: it is the program's, not the loader's. It
is imported once, by a process that is forked for each load.

The peer imports all of its code in ``import kernels``, kernelmill at the first load, and its HTTP
client at the first download. So there are rows for both together, and ``warm load`` is a first load
in a process that has imported the code already. Offline is by version, as programs pin; the peer
cannot do it. Times are the process's CPU time, which other work on the machine disturbs less, and
wall time in the next column; ratios are of the best CPU times.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from demo.hub import serving

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
OURS: Final = "kernelmill"
REPO: Final = "acme/bench"
ROUNDS: Final = 3
FILES: Final = 8
DATA_BYTES: Final = 2_000_000
TARGETS: Final = {
    "import": 0.2,
    "cold": 1.0,
    "import + cold": 1.0,
    "warm": 0.1,
    "warm load": 0.1,
    "import + warm": 0.2,
    "again": 0.01,
    "offline": None,
}
"""Row -> the largest ratio to the peer's time that is good enough."""
REPEATS: Final = 21
SETTLING_S: Final = 0.1
"""How old a file has to be before what was read of it is remembered."""
REQUEST: Final = re.compile(r" (GET|HEAD|POST) /")

SCRIPT: Final = f"""
import json, os, sys, time, traceback
sys.path.append({sysconfig.get_path("purelib")!r})  # the peer borrows our PyTorch
import torch
def timed(run):
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    return result, (1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall))
def answer(env, repeats, is_code_first):
    os.environ.update(env)
    kernels, importing = timed(lambda: __import__("kernels"))
    if is_code_first:
        __import__(os.environ["CODE"])
    load = lambda: kernels.get_kernel({REPO!r}, version=1)
    kernel, first = timed(load)
    assert kernel.double(21) == 42, kernel
    times = sorted(timed(load)[1] for _ in range(repeats))
    again = times[len(times) // 2] if times else (0.0, 0.0)
    return {{"import": importing, "first": first, "again": again}}
for line in sys.stdin:
    child = os.fork()
    if not child:
        try:
            text = json.dumps(answer(*json.loads(line)))
        except BaseException:
            text = json.dumps({{"error": traceback.format_exc()}})
        os.write(1, text.encode() + b"\\n")
        os._exit(0)
    os.waitpid(child, 0)
"""

BUILD: Final = f"""
import sys
from pathlib import Path
from kernelmill.spec import metadata as format
from kernelmill.spec.backend import Backend
from kernelmill.spec.digest import digest_files
files = {{f"part{{i}}.py": b"VALUE = %d\\n" % i for i in range({FILES - 3})}}
files["__init__.py"] = b"def double(x):\\n    return 2 * x\\n"
files["weights.bin"] = bytes(range(256)) * ({DATA_BYTES} // 256)
value = format.Metadata(
    name="bench", id="_bench_cpu_1234567", version=1, license="Apache-2.0", python_depends=(),
    backend=Backend.CPU, digest=digest_files(files.items()),
)
files["metadata.json"] = format.dumps(value).encode()
folder = Path(sys.argv[1])
(folder / "build/torch-cpu").mkdir(parents=True)
for name, content in files.items():
    (folder / "build/torch-cpu" / name).write_bytes(content)
"""


Time = tuple[float, float]
"""CPU and wall, in milliseconds."""


class Client:
    """One of the two loaders, with a cache of its own."""

    def __init__(
        self, name: str, python: str, code: str, log: Path, env: Mapping[str, str]
    ) -> None:
        self.name = name
        self.times: dict[str, list[Time]] = {step: [] for step in TARGETS}
        self.requests: dict[str, int] = {}
        self._log = log
        self._process = subprocess.Popen(
            [python, "-c", SCRIPT],
            env={**env, "CODE": code},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # bars of progress; errors are answers
            text=True,
        )

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def warm_up(self, cache: Path) -> None:
        """Load once, to have bytecode of everything, and the files in memory."""
        self._load({"KERNELS_CACHE": str(cache), "HF_HUB_CACHE": str(cache)})

    def measure(self, cache: Path) -> None:
        """Load from an empty cache, then from that one, then without the Hub."""
        env = {"KERNELS_CACHE": str(cache), "HF_HUB_CACHE": str(cache)}
        self._note("cold", *self._load(env))
        time.sleep(SETTLING_S)
        self._load(env)  # the first load of settled files also notes what it hashed
        times, warm = self._load(env)
        self._note("warm", times, warm)
        self.times["import"].append(times["import"])
        times, requests = self._load(env, repeats=REPEATS, is_code_first=True)
        self._note("warm load", times, warm)
        self.times["again"].append(times["again"])
        self.requests["again"] = round((requests - warm) / REPEATS)
        try:
            self._note("offline", *self._load({**env, "HF_HUB_OFFLINE": "1"}))
        except RuntimeError:
            if self.name == OURS:
                raise

    def best(self, step: str) -> Time | None:
        """Return the best CPU time and the best wall time."""
        found = self.times[step]
        return (min(cpu for cpu, _ in found), min(wall for _, wall in found)) if found else None

    def _note(self, step: str, times: Mapping[str, Time], requests: int) -> None:
        self.times[step].append(times["first"])
        self.requests[step] = requests
        if (both := f"import + {step}") in self.times:
            sums = (sum(pair) for pair in zip(times["import"], times["first"], strict=True))
            cpu, wall = sums
            self.times[both].append((cpu, wall))

    def _load(
        self, env: Mapping[str, str], repeats: int = 0, *, is_code_first: bool = False
    ) -> tuple[dict[str, Time], int]:
        """Return what a process took, and how many requests it sent."""
        before = self._count()
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([env, repeats, is_code_first]) + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        if "error" in found:
            raise RuntimeError(f"{self.name}: {found['error'][-2000:]}")
        times = {step: (cpu, wall) for step, (cpu, wall) in found.items()}
        return times, self._count() - before

    def _count(self) -> int:
        """Return how many requests the Hub has logged."""
        return len(REQUEST.findall(self._log.read_text(encoding="utf-8")))


def publish(folder: Path, env: Mapping[str, str]) -> None:
    """Upload the kernel that both will load."""
    python = [sys.executable]
    subprocess.run([*python, "-c", BUILD, str(folder)], env=env, check=True)
    card = "---\nlicense: apache-2.0\n---\n# A toy\n"
    (folder / "CARD.md").write_text(card, encoding="utf-8")
    upload = ["-m", "kernelmill.runtime", "upload", str(folder), "--repo-id", REPO]
    subprocess.run([*python, *upload], env=env, check=True, capture_output=True)


def measure(folder: Path, peer: Path) -> list[Client]:
    """Time both clients in turns."""
    with serving(folder / "hub", "--trust", "acme", "-v") as hub:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        # Both as they are once installed: with bytecode.
        clean.pop("PYTHONDONTWRITEBYTECODE", None)
        env = clean | {
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": hub.token,
            "HF_HOME": str(folder / "home"),
        }
        publish(folder / "kernel", env)
        log = folder / "hub" / "hub.log"
        theirs = {name: value for name, value in env.items() if name != "PYTHONPATH"}
        clients = [
            Client(OURS, sys.executable, "kernelmill.runtime.api", log, env),
            Client("kernels 0.17.2", str(peer), "kernels", log, theirs),
        ]
        for client in clients:
            client.warm_up(folder / f"{client.name}-first")
        for number in range(ROUNDS):
            for client in clients:
                client.measure(folder / f"{client.name}-{number}")
        for client in clients:
            client.close()
    return clients


def report(ours: Client, theirs: Client) -> dict[str, dict[str, float | int | bool | None]]:
    """Return the best times, in milliseconds, and their ratios."""
    rows: dict[str, dict[str, float | int | bool | None]] = {}
    for step, target in TARGETS.items():
        mine, other = ours.best(step), theirs.best(step)
        assert mine, step
        ratio = mine[0] / other[0] if other else None
        rows[step] = {
            "cpu_ms": round(mine[0], 3),
            "wall_ms": round(mine[1], 3),
            "requests": ours.requests.get(step),
            "peer_cpu_ms": round(other[0], 3) if other else None,
            "peer_wall_ms": round(other[1], 3) if other else None,
            "peer_requests": theirs.requests.get(step),
            "ratio": round(ratio, 4) if ratio is not None else None,
            "target": target,
            "is_met": ratio <= target if ratio is not None and target else None,
        }
    return rows


def render(rows: Mapping[str, Mapping[str, float | int | bool | None]]) -> str:
    """Return the table that is printed."""
    times = ("cpu_ms", "wall_ms", "requests", "peer_cpu_ms", "peer_wall_ms", "peer_requests")
    columns = (*times, "ratio", "target", "is_met")
    words = {None: "-", True: "yes", False: "no"}
    lines = [f"{'':14}" + "".join(f"{name.replace('_', ' '):>14}" for name in columns)]
    for step, row in rows.items():
        cells = (row[name] for name in columns)
        shown = (words[it] if it is None or isinstance(it, bool) else str(it) for it in cells)
        lines.append(f"{step:14}" + "".join(f"{it:>14}" for it in shown))
    return "\n".join(lines)


def main() -> None:
    """Measure, print a table, and write JSON when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--peer", type=Path, default=ROOT / ".venv-peer" / "bin" / "python")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = report(*measure(Path(name), args.peer))
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, loopback, {FILES} files, best of {ROUNDS}; "
        "peer: kernels 0.17.2\n" + render(rows)
    )
    if args.json:
        document = {"version": 1, "cores": os.cpu_count(), "peer": "kernels 0.17.2", "steps": rows}
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
