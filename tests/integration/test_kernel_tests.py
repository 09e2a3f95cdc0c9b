"""``kernel-builder test``: kernels built for real, and their own tests on an emulated GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_S: Final = 300
BARRIER: Final = "    __syncthreads();\n"
IGNORE: Final = shutil.ignore_patterns("build", ".kernelmill", "__pycache__", ".pytest_cache")
Done = subprocess.CompletedProcess[str]

pytest.importorskip("torch")


def run_module(module: str, *arguments: str | Path, cwd: Path, **more: str) -> Done:
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(it for it in sys.path if it), **more},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def builder(*arguments: str | Path, cwd: Path, status: int = 0, **more: str) -> str:
    done = run_module("kernelmill.builder", *arguments, cwd=cwd, **more)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def trials(folder: Path, *arguments: str, status: int = 0) -> list[dict[str, Any]]:
    """Return what ``kernel-builder test --json`` says of a built kernel."""
    quiet = ("--", "-q", "-p", "no:cacheprovider")
    document = json.loads(
        builder("test", folder, "--json", *arguments, *quiet, cwd=folder, status=status)
    )
    assert document["version"] == 1
    assert document["passed"] is (status == 0)
    return list(document["trials"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A built kernel repository."""

    folder: Path

    def with_tests(self, text: str, folder: Path) -> Path:
        """Return a copy with other tests."""
        copy = shutil.copytree(self.folder, folder / "copy")
        shutil.rmtree(copy / "tests")
        (copy / "tests").mkdir()
        (copy / "tests/test_it.py").write_text(text, "utf-8")
        return copy


@pytest.fixture(scope="module")
def reduction(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Kernel:
    return build_example("reduction", tmp_path_factory.mktemp("kernels"), root)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    work = tmp_path_factory.mktemp("template")
    builder("init", "my-relu", "--name", "my-relu", "--backends", "rocm", cwd=work)
    builder("build", "my-relu", cwd=work)
    return Kernel(folder=work / "my-relu")


def build_example(name: str, work: Path, root: Path, *options: str) -> Kernel:
    folder = shutil.copytree(root / "examples" / name, work / name, ignore=IGNORE)
    builder("build", folder, *options, cwd=work)
    return Kernel(folder=folder)


def check_both(found: Sequence[dict[str, Any]]) -> None:
    """Assert that a kernel passed on the CPU and, with nothing found, on the emulated GPU."""
    assert [it["runner"] for it in found] == ["cpu", "emulated"]
    on_cpu, emulated = found
    assert on_cpu["tests"]["passed"] == emulated["tests"]["passed"] > 0
    assert on_cpu["launches"] is None
    assert emulated["sanitized"] is True
    assert emulated["launches"]["count"] > 0
    assert emulated["launches"]["failed"] == 0
    assert emulated["findings"] == []


def test_reduction_passes_clean_when_emulated(reduction: Kernel) -> None:
    check_both(trials(reduction.folder, "--emulate", "--sanitize"))


def test_transpose_passes_clean_when_emulated(tmp_path: Path, root: Path) -> None:
    folder = build_example("transpose", tmp_path, root).folder
    check_both(trials(folder, "--emulate", "--sanitize"))


def test_template_passes_clean_when_emulated(template: Kernel) -> None:
    (trial,) = trials(template.folder, "--emulate", "--sanitize")
    assert (trial["tests"]["passed"], trial["tests"]["skipped"]) == (5, 0)
    assert trial["launches"]["count"] == 3
    assert trial["findings"] == []
    done = run_module(
        *("kernelmill.emulator", "run", "--sanitize", "--", sys.executable, "example.py"),
        cwd=template.folder,
    )
    assert (done.returncode, done.stdout) == (0, "tensor([0., 0., 2.])\n"), done.stderr


def test_template_is_told_to_emulate_when_there_is_no_gpu(template: Kernel) -> None:
    if Path("/sys/class/kfd").exists():
        pytest.skip("this machine may have an AMD GPU")
    done = run_module("kernelmill.builder", "test", cwd=template.folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "kernel-builder: no AMD GPU here\n  hint: add --emulate to run without one\n"
    )


def test_race_is_named_with_its_line_when_a_barrier_is_missing(tmp_path: Path, root: Path) -> None:
    folder = shutil.copytree(root / "examples/reduction", tmp_path / "reduction", ignore=IGNORE)
    source = folder / "reduction/row_sum_rocm.hip"
    text = source.read_text("utf-8")
    assert text.count(BARRIER) == 1
    source.write_text(text.replace(BARRIER, "    if (half > 64) __syncthreads();\n"), "utf-8")
    builder("build", folder, "--backend", "rocm", cwd=tmp_path)
    done = run_module(
        *("kernelmill.builder", "test", folder, "--emulate", "--sanitize"),
        cwd=tmp_path,
    )
    # The numbers are right all the same: waves take turns here. That is what the sanitizer is for.
    assert done.returncode == 1, done.stdout + done.stderr
    assert "8 passed" in done.stdout
    assert "kernel                    kind      source line " in done.stdout
    assert "lds-race  reduction/row_sum_rocm.hip:21" in done.stdout
    assert "the sanitizer found 1 fault" in done.stdout


@pytest.mark.parametrize(
    ("tests", "status", "problem"),
    [
        pytest.param(
            "def test_nothing():\n    pass\n",
            1,
            "no kernel was launched on the emulated device",
            id="nothing-launched",
        ),
        pytest.param(
            "import pytest\n@pytest.mark.skip\ndef test_later():\n    pass\n",
            1,
            "every test was skipped (1), which shows nothing of the kernel; "
            "no kernel was launched on the emulated device",
            id="all-skipped",
        ),
        pytest.param(
            "", 1, "there are no tests; no kernel was launched on the emulated device", id="empty"
        ),
    ],
)
def test_trial_fails_when_its_tests_show_nothing(
    template: Kernel, tmp_path: Path, tests: str, status: int, problem: str
) -> None:
    (trial,) = trials(template.with_tests(tests, tmp_path), "--emulate", status=status)
    assert trial["problem"] == problem


def test_command_fails_when_pytest_cannot_start(template: Kernel) -> None:
    done = run_module("kernelmill.builder", "test", "--emulate", "--", "--wat", cwd=template.folder)
    assert done.returncode == 3
    assert "unrecognized arguments: --wat" in done.stderr
    assert "did not run to their end: status 4" in done.stderr


def test_words_after_the_dashes_reach_pytest_when_given(reduction: Kernel) -> None:
    text = builder(
        *("test", "--backend", "cpu", "--", "tests/test_row_sum.py", "-k", "refuses", "-q"),
        cwd=reduction.folder,
    )
    assert "1 passed, 7 deselected" in text
