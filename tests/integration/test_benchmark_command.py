"""`kernels benchmark` against a real Hub and on a folder. The flagship is timed in its own test."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from demo.hub import RunningHub, serving
from tests.unit.runtime.kernel_files import kernel_files, unload_kernels, write_files

from kernelmill.runtime.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = """
import torch

def double(x):
    return 2 * x
"""
SCRIPT = """
import torch
from kernels.benchmark import Benchmark


class Double(Benchmark):
    seed = 1

    def setup(self):
        self.x = torch.rand(100, device=self.device)

    def benchmark_small(self):
        self.out = self.kernel.double(self.x)

    def verify_small(self):
        return self.x + self.x
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub"), "--trust", "acme") as running:
        running.run("org", "create", "stranger")
        yield running


@pytest.fixture
def folder(server: RunningHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A kernel's repository, and an environment that talks to the Hub."""
    for name in [each for each in os.environ if each.startswith(("HF_", "KERNELS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", server.token)
    repository = tmp_path / "repository"
    write_files(repository / "build/torch-universal", kernel_files(sources={"__init__.py": SOURCE}))
    files = {
        "CARD.md": b"---\nlicense: apache-2.0\n---\n# Double\n",
        "benchmarks/benchmark_double.py": SCRIPT.encode(),
        "benchmarks/benchmark_nothing.py": b"STATE = 1\n",
    }
    yield write_files(repository, files)
    unload_kernels()


def read_only_result(text: str) -> dict[str, Any]:
    (result,) = json.loads(text)["results"]
    return dict(result)


def test_folder_is_timed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["benchmark", str(folder), "--json", "--iterations", "3", "--warmup", "0"]) == 0
    printed = capsys.readouterr()
    result = read_only_result(printed.out)
    assert (result["workload"], result["verified"]) == ("Double.small", True)
    assert result["timingResults"]["iterations"] == 3
    assert "benchmarkScriptSha" not in json.loads(printed.out)
    table = printed.err.splitlines()
    assert table[-2].split()[:4] == ["Benchmark", "Workload", "N", "Speedup"]
    assert table[-1].split()[:3] == ["Double", "small", "3"]


def test_kernel_of_a_hub_is_timed_at_a_version_or_branch_and_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["upload", str(folder), "--repo-id", "acme/double"]) == 0
    capsys.readouterr()
    output = tmp_path / "results.json"
    few = ("--iterations", "1", "--warmup", "0", "--output", str(output))
    for target in (["acme/double@v1"], ["acme/double", "--branch", "v1"], ["acme/double"]):
        assert main(["benchmark", *target, *few]) == 0
        assert capsys.readouterr().out == "", "only --json prints the results"
        payload = json.loads(output.read_text("utf-8"))
        assert read_only_result(output.read_text("utf-8"))["verified"]
        assert len(payload["benchmarkScriptSha"]) == 40
    assert not list((tmp_path / "home").rglob("__pycache__")), "the cache stays as it was fetched"


def test_scripts_of_a_stranger_are_not_even_fetched(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S3: a benchmark's script is code too, and comes through the same gate."""
    assert main(["upload", str(folder), "--repo-id", "stranger/double"]) == 0
    capsys.readouterr()
    assert main(["benchmark", "stranger/double@v1"]) == 1
    assert "'stranger/double' is not from a trusted publisher" in capsys.readouterr().err
    assert not list((tmp_path / "home").rglob("benchmark_double.py"))
    few = ("--iterations", "1", "--warmup", "0")
    assert main(["benchmark", "stranger/double@v1", "--trust-remote-code", *few]) == 0


@pytest.mark.parametrize(
    ("change", "arguments", "status", "message"),
    [
        pytest.param(
            {"benchmarks/benchmark_double.py": b"X = 1\n"},
            (),
            2,
            "No Benchmark subclasses found in benchmark_double.py, benchmark_nothing.py",
            id="no-class",
        ),
        pytest.param(
            {
                "benchmarks/benchmark_double.py": SCRIPT.replace(
                    "self.x + self.x", "self.x"
                ).encode()
            },
            (),
            1,
            "Double: Verification failed for small: largest difference",
            id="wrong-result",
        ),
        pytest.param(
            {}, ("--version", "1"), 2, "cannot be used with a local path", id="version-of-a-folder"
        ),
    ],
)
def test_refusal_is_one_clear_error(  # noqa: PLR0917 - a table
    folder: Path,
    change: dict[str, bytes],
    arguments: tuple[str, ...],
    status: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_files(folder, change)
    assert main(["benchmark", str(folder), "--warmup", "0", *arguments]) == status
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_picture_is_drawn_for_both_themes(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = str(tmp_path / "picture")
    assert main(["benchmark", str(folder), "--iterations", "1", "--visual", base]) == 0
    assert (tmp_path / "picture_light.svg").read_text("utf-8").startswith("<?xml")
    assert (tmp_path / "picture_dark.svg").is_file()
    assert f"wrote {base}_dark.svg" in capsys.readouterr().err


def test_picture_without_matplotlib_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    assert main(["benchmark", str(folder), "--visual", "picture"]) == 3
    error = capsys.readouterr().err
    assert "--visual needs matplotlib\n  hint: pip install 'kernelmill[benchmark]'" in error
