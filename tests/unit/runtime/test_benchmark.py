"""Timing of kernels: no clock, no device and no network is real here."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch

from kernelmill.runtime.benchmark import Benchmark
from kernelmill.runtime.benchmark.device import BenchmarkDevice, Machine
from kernelmill.runtime.benchmark.report import COLUMNS, Report
from kernelmill.runtime.benchmark.run import Runner, VerificationFailed
from kernelmill.runtime.benchmark.script import find_scripts, read_classes, workloads_of
from kernelmill.runtime.benchmark.timing import Timing, summarise
from kernelmill.runtime.cli.benchmark import parse_target
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InputError
from kernelmill.spec.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KERNEL = ModuleType("_toy_cpu_1a2b3c4")
CPU = BenchmarkDevice(backend=Backend.CPU, torch=torch)


def clock_of(*times_ms: float) -> Iterator[float]:
    """Yield the start and the end of runs that take ``times_ms``."""
    now_s = 0.0
    for time_ms in times_ms:
        yield now_s
        now_s += time_ms / 1e3
        yield now_s


class FakeTorch(ModuleType):
    """Stands in for torch, and says what was called on which device's module."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.calls: list[str] = []
        self.__version__ = "2.13.0"
        for name in ("cuda", "xpu", "mps", "npu"):
            setattr(self, name, self._module(name))

    def manual_seed(self, seed: int) -> None:
        self.calls.append(f"seed {seed}")

    def _module(self, name: str) -> SimpleNamespace:
        def say(what: str, answer: object = None) -> Callable[..., object]:
            def call(*_: object) -> object:
                self.calls.append(f"{name}.{what}")
                return answer

            return call

        return SimpleNamespace(
            synchronize=say("synchronize"), get_device_name=say("get_device_name", f"some {name}")
        )


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param(
            [4.0, 1.0, 3.0, 2.0],
            {"mean_ms": 2.5, "std_ms": 1.118, "q1_ms": 1.75, "q3_ms": 3.25, "iqr_ms": 1.5},
            id="quartiles-are-interpolated",
        ),
        pytest.param(
            [1.0] * 9 + [100.0],
            {"min_ms": 1.0, "max_ms": 100.0, "outliers": 1, "iterations": 10},
            id="far-away-is-an-outlier",
        ),
        pytest.param(
            [7.0], {"mean_ms": 7.0, "std_ms": 0.0, "iqr_ms": 0.0, "outliers": 0}, id="one-run"
        ),
    ],
)
def test_times_are_summed_up(times: list[float], expected: dict[str, float]) -> None:
    timing = summarise(times)
    assert {name: getattr(timing, name) for name in expected} == expected


class Doubling(Benchmark):
    """Three workloads; what was done is on record."""

    seed = 7
    done: list[str] = []  # noqa: RUF012 - a record for the tests

    def setup(self) -> None:
        self.done.append("setup")
        self.x = torch.rand(4, device=self.device)

    def setup_zeros(self) -> None:
        self.done.append("setup_zeros")
        self.x = torch.zeros(4)

    def benchmark_plain(self) -> None:
        self.done.append("plain")
        self.out = self.x * 2

    def verify_plain(self) -> torch.Tensor:
        self.done.append("verify")
        return self.x + self.x

    def benchmark_zeros(self) -> None:
        self.out = self.x


def test_workloads_are_set_up_verified_warmed_up_and_timed() -> None:
    Doubling.done.clear()
    # plain: 1 to fill `out`, 1 warm-up and 1 run of the reference, 1 warm-up, 2 timed; zeros: 1 + 2
    clock = clock_of(1, 9, 8, 7, 2, 4, 7, 6, 6)
    runner = Runner(device=CPU, iterations=2, warmup=1, clock=clock.__next__)
    timings = dict(runner.run(Doubling, KERNEL))
    assert timings["Doubling.plain"] == Timing(
        mean_ms=3.0,
        std_ms=1.0,
        min_ms=2.0,
        max_ms=4.0,
        q1_ms=2.5,
        q3_ms=3.5,
        iqr_ms=1.0,
        outliers=0,
        iterations=2,
        verified=True,
        reference_ms=8.0,
    )
    assert timings["Doubling.plain"].speedup == pytest.approx(8 / 3)
    assert timings["Doubling.zeros"].verified is None
    assert Doubling.done == [
        *("setup", "plain", "verify", "verify", "plain", "plain", "plain"),
        "setup_zeros",
    ]


class Wrong(Benchmark):
    def benchmark_ones(self) -> None:
        self.out = torch.ones(3)

    def verify_ones(self) -> torch.Tensor:
        return torch.tensor([1.0, 1.5, 1.0])


class WrongShape(Wrong):
    def verify_ones(self) -> torch.Tensor:
        return torch.ones(1)


class NoTensor(Wrong):
    def benchmark_ones(self) -> None:
        pass


class AlmostRight(Wrong):
    def verify_ones(self) -> torch.Tensor:
        return torch.tensor([1.009, 1.0, 1.0], dtype=torch.float64)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Wrong, r"largest difference 0\.5"),
        (WrongShape, r"self\.out is \[3\], the reference \[1\]"),
        (NoTensor, r"self\.out and what verify returns have to be tensors"),
    ],
)
def test_wrong_result_is_not_timed(case: type[Benchmark], reason: str) -> None:
    with pytest.raises(VerificationFailed, match=f"Verification failed for ones: {reason}") as it:
        list(Runner(device=CPU, iterations=1, warmup=0).run(case, KERNEL))
    assert isinstance(it.value, RuntimeError)


def test_reference_may_be_of_another_type_and_differ_by_a_hundredth() -> None:
    ((_, timing),) = Runner(device=CPU, iterations=1, warmup=0).run(AlmostRight, KERNEL)
    assert timing.verified


@pytest.mark.parametrize(
    ("backend", "name", "calls"),
    [
        (Backend.CPU, "cpu", []),
        (Backend.CUDA, "cuda", ["cuda.synchronize", "cuda.get_device_name"]),
        (Backend.ROCM, "cuda", ["cuda.synchronize", "cuda.get_device_name"]),
        (Backend.XPU, "xpu", ["xpu.synchronize", "xpu.get_device_name"]),
        (Backend.METAL, "mps", ["mps.synchronize"]),
        (Backend.CANN, "npu", ["npu.synchronize", "npu.get_device_name"]),
        (Backend.NEURON, "neuron", []),
    ],
)
def test_device_is_the_backends_and_the_cpu_calls_no_other(
    backend: Backend, name: str, calls: list[str]
) -> None:
    """Y17: the original's assumes CUDA, and waits for a GPU that was not used."""
    fake = FakeTorch()
    device = BenchmarkDevice(backend=backend, torch=fake)
    device.synchronize()
    device.describe(Host(cpu="x86_64", os="linux", backend=backend, python=(3, 11)))
    assert (device.name, fake.calls) == (name, calls)


@pytest.mark.parametrize(
    ("backend", "version", "text", "gpu"),
    [
        (Backend.CPU, None, "CPU", "N/A"),
        (Backend.CUDA, (12, 8), "CUDA 12.8", "some cuda"),
        (Backend.ROCM, (7, 1), "ROCm 7.1", "some cuda"),
        (Backend.XPU, (2025, 3), "XPU 2025.3", "some xpu"),
        (Backend.METAL, None, "MPS", "Apple MPS"),
        (Backend.CANN, (8, 1), "NPU 8.1", "some npu"),
    ],
)
def test_machine_is_described_as_it_is(
    backend: Backend, version: tuple[int, int] | None, text: str, gpu: str
) -> None:
    """Defect 5 of the original: it says backend CPU and GPU N/A on every machine."""
    host = Host(cpu="x86_64", os="linux", backend=backend, backend_version=version, python=(3, 11))
    machine = BenchmarkDevice(backend=backend, torch=FakeTorch()).describe(host)
    assert (machine.backend, machine.gpu, machine.pytorch_version) == (text, gpu, "2.13.0")
    assert machine.cpu
    assert machine.os.count(" ") >= 1


def test_report_is_the_originals_json() -> None:
    timing = summarise([2.0]).verified_against(3.0)
    report = Report(
        timings={"Case.work": timing, "Case.other": summarise([1.0])},
        machine=Machine(gpu="N/A", backend="CPU", pytorch_version="2", os="Linux 6", cpu="a cpu"),
        kernel_id="_toy_cpu_1a2b3c4",
        script_commit="ab" * 20,
    )
    payload: Any = report.payload()
    assert payload["results"][0] == {
        "workload": "Case.work",
        "timingResults": {
            "mean_ms": 2.0,
            "std_ms": 0.0,
            "min_ms": 2.0,
            "max_ms": 2.0,
            "q1_ms": 2.0,
            "q3_ms": 2.0,
            "iqr_ms": 0.0,
            "outliers": 0,
            "iterations": 1,
        },
        "verified": True,
    }
    assert "verified" not in payload["results"][1]
    del payload["results"]
    assert payload == {
        "machineInfo": {
            "gpu": "N/A",
            "backend": "CPU",
            "pytorchVersion": "2",
            "os": "Linux 6",
            "cpu": "a cpu",
        },
        "kernelCommitSha": "1a2b3c4",
        "benchmarkScriptPath": "benchmarks",
        "benchmarkScriptSha": "ab" * 20,
    }
    rows = report.rows()
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert rows[0][:4] == ("Case", "work", "1", "1.50x")
    assert (rows[0][-1], rows[1][-1]) == ("✓", "·")


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        (("a/b@v3", None, None), ("a/b", 3, None)),
        (("a/b@main", None, None), ("a/b", None, "main")),
        (("a/b", 0, None), ("a/b", 0, None)),
        (("a/b", None, "dev"), ("a/b", None, "dev")),
        (("a/b", None, None), ("a/b", None, None)),
    ],
)
def test_target_names_a_version_or_a_branch(
    arguments: tuple[str, int | None, str | None],
    target: tuple[str, int | None, str | None],
) -> None:
    assert parse_target(*arguments) == target


@pytest.mark.parametrize("arguments", [("a/b@v1", 1, None), ("a/b@v1", None, "x"), ("a/b", 0, "x")])
def test_target_is_refused_when_it_is_given_twice(
    arguments: tuple[str, int | None, str | None],
) -> None:
    with pytest.raises(InputError, match="the revision to time is given more than once"):
        parse_target(*arguments)


def test_target_is_refused_when_nothing_follows_the_at() -> None:
    with pytest.raises(InputError, match="nothing follows the @ in 'a/b@'"):
        parse_target("a/b@", None, None)


SCRIPT = """
from dataclasses import dataclass
from pathlib import Path

from kernels.benchmark import Benchmark

WHERE = Path.cwd()


@dataclass
class NotOne:
    x: int = 0


class Mine(Benchmark):
    where = WHERE

    def benchmark_it(self):
        pass


class Theirs(Mine):
    pass
"""


def test_script_is_read_in_its_repository_and_leaves_no_bytecode(tmp_path: Path) -> None:
    script = tmp_path / "benchmarks" / "benchmark_it.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    (script.parent / "other.py").write_text("raise SystemExit")
    assert find_scripts(tmp_path, where="a/b") == (script,)
    classes = read_classes(script, root=tmp_path)
    assert [it.__name__ for it in classes] == ["Mine", "Theirs"]
    assert vars(classes[0])["where"] == tmp_path.resolve()
    assert [workloads_of(it) for it in classes] == [("it",), ("it",)]
    assert not list(tmp_path.rglob("__pycache__"))


def test_missing_scripts_and_workloads_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no benchmark scripts found in 'a/b/benchmarks'"):
        find_scripts(tmp_path, where="a/b")
    with pytest.raises(InputError, match=r"No benchmark_\* methods found in Benchmark"):
        workloads_of(Benchmark)
