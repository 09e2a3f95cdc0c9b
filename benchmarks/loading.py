"""Time loading against Hugging Face's ``kernels``: ``python -m benchmarks.loading [--json FILE]``.

Both load the same kernel from the same Hub on loopback, in turns, each process anew, and the answer
is checked. PyTorch is imported before the clock starts: it is the program's, not the loader's. The
peer imports its HTTP client in ``import kernels``, kernelmill at the first download, so there is a
row for both together. Offline is by version, as programs pin; the peer cannot do it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from demo.hub import serving

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
OURS: Final = "kernelmill"
REPO: Final = "acme/bench"
ROUNDS: Final = 7
FILES: Final = 8
DATA_BYTES: Final = 2_000_000
STEPS: Final = ("import", "cold", "import + cold", "warm", "again", "offline")
REPEATS: Final = 21
REQUEST: Final = re.compile(r" (GET|HEAD|POST) /")

SCRIPT: Final = f"""
import json, sys, time
sys.path.append({sysconfig.get_path("purelib")!r})  # the peer borrows our PyTorch
def timed(run):
    start = time.perf_counter()
    result = run()
    return result, 1000 * (time.perf_counter() - start)
kernels, importing = timed(lambda: __import__("kernels"))
import torch
load = lambda: kernels.get_kernel({REPO!r}, version=1)
kernel, first = timed(load)
assert kernel.double(21) == 42, kernel
times = sorted(timed(load)[1] for _ in range(int(sys.argv[1])))
again = times[len(times) // 2] if times else 0
print(json.dumps({{"import": importing, "first": first, "again": again}}))
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


class Client:
    """One of the two loaders, with a cache of its own."""

    def __init__(self, name: str, python: str, log: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.times: dict[str, list[float]] = {step: [] for step in STEPS}
        self.requests: dict[str, int] = {}
        self._python = python
        self._log = log
        self._env = env

    def measure(self, cache: Path) -> None:
        """Load from an empty cache, then from that one, then without the Hub."""
        env = {**self._env, "KERNELS_CACHE": str(cache), "HF_HUB_CACHE": str(cache)}
        cold = self._load(env)
        self._note("cold", cold)
        self.times["import + cold"].append(cold["import"] + cold["first"])
        self._load(env)  # the first warm load also notes what it hashed
        warm = self._load(env)
        self._note("warm", warm)
        self.times["import"].append(warm["import"])
        again = self._load(env, repeats=REPEATS)
        self.times["again"].append(again["again"])
        self.requests["again"] = round((again["requests"] - warm["requests"]) / REPEATS)
        try:
            self._note("offline", self._load({**env, "HF_HUB_OFFLINE": "1"}))
        except RuntimeError:
            if self.name == OURS:
                raise

    def _note(self, step: str, found: Mapping[str, float]) -> None:
        self.times[step].append(found["first"])
        self.requests[step] = round(found["requests"])

    def _load(self, env: Mapping[str, str], repeats: int = 0) -> dict[str, float]:
        before = self._count()
        command = [self._python, "-c", SCRIPT, str(repeats)]
        done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr[-2000:]}")
        return {**json.loads(done.stdout), "requests": self._count() - before}

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
        env = clean | {
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": hub.token,
            "HF_HOME": str(folder / "home"),
        }
        publish(folder / "kernel", env)
        log = folder / "hub" / "hub.log"
        theirs = {name: value for name, value in env.items() if name != "PYTHONPATH"}
        clients = [
            Client(OURS, sys.executable, log, env),
            Client("kernels 0.17.2", str(peer), log, theirs),
        ]
        for number in range(ROUNDS):
            for client in clients:
                client.measure(folder / f"{client.name}-{number}")
    return clients


def report(ours: Client, theirs: Client) -> dict[str, dict[str, float | int | None]]:
    """Return the medians, in milliseconds, and their ratios."""
    rows: dict[str, dict[str, float | int | None]] = {}
    for step in STEPS:
        mine = statistics.median(ours.times[step])
        other = statistics.median(theirs.times[step]) if theirs.times[step] else None
        rows[step] = {
            "ms": round(mine, 3),
            "best_ms": round(min(ours.times[step]), 3),
            "requests": ours.requests.get(step),
            "peer_ms": round(other, 3) if other else None,
            "peer_best_ms": round(min(theirs.times[step]), 3) if other else None,
            "peer_requests": theirs.requests.get(step),
            "ratio": round(mine / other, 4) if other else None,
        }
    return rows


def main() -> None:
    """Measure, print a table, and write JSON when asked to."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--peer", type=Path, default=ROOT / ".venv-peer" / "bin" / "python")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = report(*measure(Path(name), args.peer))
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, loopback, {FILES} files, median (best) of "
        f"{ROUNDS}; peer: kernels 0.17.2"
    )
    print(f"{'':14}{'ms':>20}{'requests':>10}{'peer ms':>22}{'requests':>10}{'ratio':>8}")
    for step, row in rows.items():
        ours = f"{row['ms']} ({row['best_ms']})"
        peer = f"{row['peer_ms']} ({row['peer_best_ms']})" if row["peer_ms"] else "fails"
        counts = ["-" if row[key] is None else row[key] for key in ("requests", "peer_requests")]
        ratio = row["ratio"] if row["ratio"] is not None else "-"
        print(f"{step:14}{ours:>20}{counts[0]:>10}{peer:>22}{counts[1]:>10}{ratio:>8}")
    if args.json:
        document = {"version": 1, "cores": os.cpu_count(), "peer": "kernels 0.17.2", "steps": rows}
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
