"""Run the whole path on real input: ``python -m demo``."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from demo import release
from demo.hub import RunningHub, serving
from demo.report import (
    EMULATED_HEAD,
    SHAPES_HEAD,
    device_lines,
    emulated_line,
    fp8_mfma,
    shape_line,
    speed_ratio,
    spill_count,
)
from demo.shapes import EMULATED_SHAPES, FORMATS, LAYOUTS, SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
PUBLISHER: Final = "kernels-community"
REPOSITORY: Final = f"{PUBLISHER}/gemm"
SHAPE_TO_BEAT: Final = "1024x1536x7168"


class DemoError(Exception):
    """A step of the demo failed; the text says which and why."""


class Demo:
    """The steps, in order, over one work folder that is removed at the end."""

    def __init__(self, work: Path, console: Console, *, is_release: bool) -> None:
        self.work = work
        self.is_release = is_release
        self.console = console
        self.start = time.monotonic()
        self.results: dict[str, Any] = {"version": 1}
        self.source = work / "gemm"

    def step(self, text: str) -> None:
        """Say what comes next, and how long it took to get here."""
        self.console.print(f"[bold]\\[{time.monotonic() - self.start:5.1f} s][/bold] {text}")

    def say(self, text: str) -> None:
        """Print ``text`` as it is."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def command(self, *args: str, env: Mapping[str, str] | None = None) -> str:
        """Run one command of ours and return what it printed; its messages go to the terminal."""
        self.console.print(f"  $ {_shown(args)}", style="dim", highlight=False, soft_wrap=True)
        done = subprocess.run(
            [sys.executable, "-m", *args],
            env=None if env is None else {**os.environ, **env},
            stdout=subprocess.PIPE,
            cwd=self.work,
            text=True,
            check=False,
        )
        if done.returncode:
            raise DemoError(f"{_shown(args)} exited with {done.returncode}\n{done.stdout}")
        return done.stdout

    def build(self) -> None:
        """Build the flagship for the CPU of this machine and, cross-compiled, for gfx942."""
        ignore = shutil.ignore_patterns("build", "__pycache__", ".pytest_cache")
        shutil.copytree(ROOT / "examples" / "gemm", self.source, ignore=ignore)
        if self.is_release:
            release.build_release(self, ROOT / ".cache")
            return
        for backend, how in (
            ("cpu", "against the installed PyTorch"),
            ("rocm", "gfx942, cross-compiled where there is no ROCm SDK"),
        ):
            self.step(f"build examples/gemm for {backend}: {how}")
            self.command("kernelmill.builder", "build", str(self.source), "--backend", backend)

    def publish(self, env: Mapping[str, str]) -> None:
        """Upload the card to ``main`` and the builds to ``v1``."""
        self.step(f"upload to {REPOSITORY} on the Hub: card to main, builds to v1")
        self.command("kernelmill.builder", "upload", str(self.source), env=env)

    def check_shapes(self, env: Mapping[str, str]) -> None:
        """Load by name in a new process and judge every shape there."""
        cases = len(SHAPES) * len(LAYOUTS) * len(FORMATS)
        self.step(f'get_kernel("{REPOSITORY}") in a new process: {cases} cases against float64')
        command = [sys.executable, "-m", "demo.conform", REPOSITORY]
        rows: list[dict[str, Any]] = []
        process = subprocess.Popen(
            command, env={**os.environ, **env}, cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                row = json.loads(line)
                if "loaded" in row:
                    self.step(f"loaded {row['loaded']['module']}")
                    self.results |= row
                    continue
                if not rows:
                    self.results["first_numbers_s"] = time.monotonic() - self.start
                    self.say(SHAPES_HEAD)
                rows.append(row)
                self.say(shape_line(row))
        self.results["shapes"] = rows
        if process.returncode or len(rows) != len(SHAPES):
            raise DemoError(f"the shapes did not all pass (exit status {process.returncode})")
        ratio = next(speed_ratio(row) for row in rows if row["shape"] == SHAPE_TO_BEAT)
        self.step(f"{SHAPE_TO_BEAT}: {ratio:.2f} times as fast as dequantise + matmul in torch")

    def show_device_code(self) -> None:
        """Read the gfx942 code object: FP8 MFMA, registers, LDS, and no spills."""
        (variant,) = (it.parent for it in self.source.glob("build/*rocm*/metadata.json"))
        self.step(f"inspect {variant.name}")
        report = json.loads(self.command("kernelmill.builder", "inspect", str(variant), "--json"))
        (code_object,) = report["code_objects"]
        kernels = code_object["kernels"]
        self.results["gfx942"] = kernels
        for kernel in kernels:
            self.say(device_lines(kernel))
        if code_object["arch"] != "gfx942" or not any(map(fp8_mfma, kernels)):
            raise DemoError("the code object has no FP8 MFMA instruction for gfx942")
        if spills := sum(map(spill_count, kernels)):
            raise DemoError(f"the gfx942 kernels spill: {spills}")

    def emulate(self, env: Mapping[str, str]) -> None:
        """Execute the gfx942 code on an emulated MI300X, loaded by name, and judge it there."""
        if self.results["torch_is_for_gpu"]:
            self.step("skipped: the emulated device wants a CPU build of PyTorch")
            return
        cases = len(EMULATED_SHAPES) * len(LAYOUTS)
        self.step(f"execute the gfx942 code, emulated and sanitized: {cases} cases against float64")
        report = self.work / "launches.json"
        found = self.command(
            *("kernelmill.emulator", "run", "--sanitize", "--report", str(report), "--"),
            *(sys.executable, "-m", "demo.emulated", REPOSITORY),
            env={**env, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")},
        )
        loaded, *rows = map(json.loads, found.splitlines())
        launches = json.loads(report.read_text(encoding="utf-8"))["launches"]
        self.results["emulated"] = {**loaded, "shapes": rows, "launches": len(launches)}
        self.say("\n".join([EMULATED_HEAD, *map(emulated_line, rows)]))
        if "_rocm_" not in loaded["module"] or len(launches) < cases:
            raise DemoError(f"{loaded['module']} launched {len(launches)} kernels on the device")

    def run_snippet(self, env: Mapping[str, str]) -> None:
        """Run the README's snippet, as written, and compare what it prints."""
        if self.results["torch_is_for_gpu"]:
            # The snippet asks for the machine's own backend, and this Hub has no CUDA build.
            self.step("skipped: the README's snippet wants a CPU build of PyTorch")
            return
        self.step("the README's snippet, as written")
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        found = re.search(r"```python\n(.*?)^# (.*?)\n```", text, re.DOTALL | re.MULTILINE)
        if found is None:
            raise DemoError("the README has no snippet that ends in its output")
        script = self.work / "snippet.py"
        script.write_text(found[1], encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, **env},
            cwd=self.work,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        self.say(f"  {done.stdout.rstrip()}")
        if done.returncode or done.stdout != f"{found[2]}\n":
            raise DemoError(f"the snippet printed something else; the README says:\n{found[2]}")


def _shown(args: tuple[str, ...]) -> str:
    names = {
        "kernelmill.builder": "kernel-builder",
        "kernelmill.hub": "kernel-hub",
        "kernelmill.emulator": "kernel-emulator",
        "kernelmill.runtime": "kernels",
    }
    words = [names.get(args[0], args[0]), *args[1:]]
    return " ".join(os.path.relpath(word, ROOT) if word.startswith("/") else word for word in words)


def client_environment(hub: RunningHub, work: Path) -> dict[str, str]:
    """Return what points every client at ``hub`` and keeps its files inside ``work``."""
    return {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(work / "hf"),
        "KERNELS_CACHE": str(work / "cache"),
        # Kept from one demo to the next: the emulated device is compiled once for a PyTorch.
        "KERNELMILL_EMULATOR_CACHE": str(ROOT / ".cache" / "emulator"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    }


def run(demo: Demo, *, keep: bool) -> None:
    """Run every step; raise DemoError at the first that fails."""
    demo.build()
    demo.step("start the Hub")
    with serving(demo.work / "hub", "--trust", PUBLISHER) as hub:
        env = client_environment(hub, demo.work)
        demo.publish({**env, "HF_TOKEN": hub.token})
        demo.check_shapes(env)  # a user needs no token
        demo.show_device_code()
        demo.emulate(env)
        demo.run_snippet(env)
        if demo.is_release:
            release.reproduce(demo, REPOSITORY, ROOT / ".cache", env)
        if keep:
            demo.say(
                "the Hub stays until Ctrl-C; in another terminal:\n"
                f"  source .venv/bin/activate; export HF_ENDPOINT={hub.url} HF_HOME={demo.work}/hf"
            )
            try:
                while True:
                    time.sleep(1)
            except KeyboardInterrupt:
                pass


def main() -> int:
    """Run the demo and clean up."""
    parser = argparse.ArgumentParser(prog="make demo", allow_abbrev=False)
    parser.add_argument("--keep", action="store_true", help="leave the Hub running until Ctrl-C")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every number to FILE")
    parser.add_argument(
        "--release",
        action="store_true",
        help="build from the lock in a sandbox, and reproduce what was uploaded (takes longer)",
    )
    args = parser.parse_args()
    console = Console(stderr=False, width=None if sys.stdout.isatty() else 132)
    cache = ROOT / ".cache"
    cache.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="demo-", dir=cache) as folder:
        demo = Demo(Path(folder), console, is_release=args.release)
        try:
            run(demo, keep=args.keep)
        except (DemoError, RuntimeError) as error:
            console.print(f"demo failed: {error}", style="bold red", markup=False)
            return 1
        except KeyboardInterrupt:
            return 130
    demo.results["seconds"] = time.monotonic() - demo.start
    if args.json:
        args.json.write_text(json.dumps(demo.results, indent=2) + "\n", encoding="utf-8")
    demo.step("done: built, published, loaded by name, right in every shape; gfx942 was emulated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
