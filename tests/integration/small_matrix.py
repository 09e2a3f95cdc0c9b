"""A kernel and SDKs that are tiny: a variant takes two seconds, and a compiler can be held."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.integration.test_build import BARE

from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sdk.stub import StubSymbol, write_stub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NAMES: Final = tuple(f"torch{it}-cxx11-cpu-x86_64-linux" for it in ("211", "212", "213"))
HELD_CXX: Final = """\
#!/bin/sh
# A compiler that waits as long as the file "hold" is there, and says so.
for word in "$@"; do
  case "$word" in *src/host.cpp)
    if [ -e "{folder}/hold" ]; then
      echo $$ > "{folder}/new-$$" && mv "{folder}/new-$$" "{folder}/held-$$"
      while [ -e "{folder}/hold" ]; do sleep 0.05; done
    fi;;
  esac
done
exec g++ "$@"
"""
CLUSTER: Final = """
import json, sys
from distributed import LocalCluster
if __name__ == "__main__":
    settings = dict(n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1")
    with LocalCluster(dashboard_address=None, **settings) as cluster:
        workers = {it.worker_address: it.pid for it in cluster.workers.values()}
        print(json.dumps([cluster.scheduler_address, workers]), flush=True)
        sys.stdin.read()
"""


def write_kernel(root: Path, source: str = BARE["src/host.cpp"]) -> Path:
    """Write a kernel for the CPU that includes none of torch's headers."""
    manifest = BARE["build.toml"].partition("[kernel.device]")[0].replace(', "rocm"', "")
    files = {"build.toml": manifest, "src/host.cpp": source}
    for path in ("torch-ext/binding.cpp", "torch-ext/bare/__init__.py"):
        files[path] = BARE[path]
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def write_sdk(store: Store, version: str, headers: Mapping[str, str] | None = None) -> None:
    """Put a torch into ``store`` that has nothing but ``headers``."""
    with store.scratch() as scratch:
        tree = scratch / "tree"
        for part in ("lib", "include/torch/csrc/api/include"):
            (tree / "torch" / part).mkdir(parents=True)
        (tree / "torch/version.py").write_text(f"__version__ = '{version}'\n")
        symbol = StubSymbol("_ZN3c104name7__cxx1112basic_stringE")
        for name in ("libc10.so", "libtorch.so", "libtorch_cpu.so"):
            (tree / "torch/lib" / name).write_bytes(write_stub(name, [symbol]))
        for name, text in (headers or {}).items():
            (tree / "torch/include" / name).write_text(text)
        record = SdkRecord(
            kind="torch",
            version=version,
            platform="x86_64-linux",
            inputs=(),
            facts={"cxx11-abi": "yes"},
            nar_sha256=nar_sha256(tree),
        )
        store.install(record, tree)


class Bench:
    """A kernel, a store and a compiler in a folder, and an environment that has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kernel = write_kernel(folder / "kernel")
        self.store = Store(folder / "sdks")
        self.started: subprocess.Popen[str] | None = None
        compiler = folder / "cxx"
        compiler.write_text(HELD_CXX.format(folder=folder))
        compiler.chmod(0o755)
        self.env = {
            **os.environ,
            "CXX": str(compiler),
            "CCACHE_DISABLE": "1",
            "KERNELMILL_PROBES": str(folder / "probes.json"),
            "KERNELMILL_SDKS": str(self.store.folder),
            "PYTHONPATH": os.pathsep.join(it for it in sys.path if it),
        }

    @property
    def hold(self) -> Path:
        """The file that holds compilers."""
        return self.folder / "hold"

    def held(self) -> list[int]:
        """Return the process of every compiler that was held."""
        return [int(it.read_text()) for it in self.folder.glob("held-*")]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a build of the whole matrix, or of what ``arguments`` choose."""
        command = [sys.executable, "-m", "kernelmill.builder", "build", str(self.kernel)]
        self.started = subprocess.Popen(
            [*command, "--all", "--json", *arguments],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.started

    def end(self) -> None:
        """End what was started, whatever became of the test."""
        self.hold.unlink(missing_ok=True)
        if self.started:
            self.started.kill()
            self.started.communicate()

    def build(self, *arguments: str) -> tuple[int, dict[str, dict[str, object]], str]:
        """Build; return the status, variant -> what the report says, and what was told."""
        return finish(self.start(*arguments))


def finish(process: subprocess.Popen[str]) -> tuple[int, dict[str, dict[str, object]], str]:
    """Return the status, variant -> what the report says, and what was told."""
    out, err = process.communicate(timeout=120)
    found = {it["variant"]: it for it in json.loads(out)["variants"]} if out else {}
    return process.returncode, found, err


def wait_until(holds: Callable[[], object], *, what: str, timeout_s: float = 60) -> None:
    """Wait for something that happens in another process."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Tell whether a process runs, and is not only waiting to be collected."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


@contextmanager
def local_cluster(env: Mapping[str, str], folder: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Run a scheduler and two workers; give ``dask://HOST:PORT`` and worker -> its process."""
    script = folder / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, str(script)],
        env=dict(env),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the cluster did not start"
        address, workers = json.loads(line)
        try:
            yield address.replace("tcp://", "dask://"), workers
        finally:
            process.stdin.close()
