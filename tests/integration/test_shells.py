"""`devshell` and `testshell`: what a command that runs in them finds."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.cli import main

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = """\
[general]
name = "toy"
version = 1
edition = 5
license = "MIT"
backends = ["cpu", "rocm"]
[general.hub]
repo-id = "acme/toy"
[torch-noarch]
"""
LOADS = """
import os, sys, toy
from kernels import get_kernel
kernel = get_kernel("acme/toy", version=1)
print(toy.NAME, kernel.NAME, os.environ["KERNELMILL_VARIANT"], os.environ["KERNEL_TEST_DEVICE"])
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A Python-only kernel, built for two backends."""
    package = tmp_path / "kernel/torch-ext/toy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("NAME = 'toy'\n")
    (tmp_path / "kernel/build.toml").write_text(MANIFEST)
    assert main(["build", str(tmp_path / "kernel")]) == 0
    return tmp_path / "kernel"


def test_a_testshell_loads_the_variant_that_fits(
    kernel: Path, capfd: pytest.CaptureFixture[str], python: str
) -> None:
    capfd.readouterr()
    assert main(["testshell", str(kernel), "--", python, "-c", LOADS]) == 0
    assert capfd.readouterr().out == "toy toy torch-cpu cpu\n"


def test_a_testshell_holds_the_variant_that_was_asked_for(
    kernel: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    words = ["--variant", "torch-rocm", "--", "sh", "-c", "ls $KERNEL_UNDER_TEST/build"]
    assert main(["testshell", str(kernel), *words]) == 0
    assert capfd.readouterr().out == "torch-rocm\n"


@pytest.mark.parametrize("command", ["devshell", "testshell"])
def test_the_exit_status_is_that_of_the_command(kernel: Path, command: str) -> None:
    assert main([command, str(kernel), "--", "sh", "-c", "exit 7"]) == 7
    assert main([command, str(kernel), "--", "sh", "-c", "kill -9 $$"]) == 137


def test_a_program_that_is_not_there_is_one_clear_error(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["testshell", str(kernel), "--", "no-such-program"]) == 3
    assert "there is no program 'no-such-program'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--variant", "torch-xpu"], "torch-xpu is not built yet", id="variant"),
        pytest.param(["--emulate"], "say which with --variant", id="emulated"),
    ],
)
def test_a_variant_that_is_not_there_is_named(
    kernel: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(
        kernel / "build/torch-rocm", kernel / "build/torch213-cxx11-rocm71-x86_64-linux"
    )
    assert main(["testshell", str(kernel), *words, "--", "true"]) == 2
    assert said in capsys.readouterr().err


def test_nothing_built_is_an_error(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(kernel / "build")
    assert main(["testshell", str(kernel), "--", "true"]) == 2
    assert "nothing is built yet" in capsys.readouterr().err


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    """A kernel with the CMake project that builds it by hand."""
    kernel = tmp_path / "relu-stable"
    ignored = shutil.ignore_patterns("build", ".kernelmill", "__pycache__")
    shutil.copytree(root / "examples/relu-stable", kernel, ignore=ignored)
    assert main(["create-pyproject", str(kernel), "--backend", "cpu"]) == 0
    return kernel


def test_plain_cmake_is_set_up_for_the_variant_in_a_devshell(
    project: Path, tmp_path: Path, python: str
) -> None:
    words = ["--backend", "cpu", "--", "cmake", "-S", str(project), "-B", str(tmp_path / "out")]
    assert main(["devshell", str(project), *words]) == 0
    cache = (tmp_path / "out/CMakeCache.txt").read_text()
    assert "KERNEL_BACKEND:STRING=cpu" in cache
    assert f"Python3_EXECUTABLE:STRING={python}" in cache
    assert (tmp_path / "out/build.ninja").is_file()


@pytest.mark.long
def test_plain_cmake_builds_the_variant_in_a_devshell(
    project: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], python: str
) -> None:
    capfd.readouterr()
    script = (
        f"cd {project} && cmake -B {tmp_path}/out >&2 && "
        f"cmake --build {tmp_path}/out --target local_install >&2 && "
        f"{python} -c 'import relu_stable, torch; print(relu_stable.relu(torch.tensor([-1., 2.])))'"
    )
    assert main(["devshell", str(project), "--backend", "cpu", "--", "sh", "-c", script]) == 0
    assert capfd.readouterr().out == "tensor([0., 2.])\n"
    (built,) = (project / "build").iterdir()
    assert built.name.startswith("torch-stable-abi29-cpu-")


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch, root: Path) -> str:
    """This Python, which finds kernelmill in a shell, too."""
    import sys

    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    return sys.executable
