"""Projects that `init` writes, for every backend."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.conftest import require_program
from tests.unit.builder.fakes import toolchain

from kernelmill.builder.backends.elsewhere import RULES, plan_elsewhere
from kernelmill.builder.check.lint import lint_sources
from kernelmill.builder.check.manifest import check_manifest
from kernelmill.builder.cli import main
from kernelmill.builder.render import render_project
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from pathlib import Path

COMPILED = ("cpu", "cuda", "metal", "rocm", "xpu")
SOURCES = {
    "cpu": "relu_cpu.cpp",
    "cuda": "relu_cuda.cu",
    "metal": "relu_metal.mm",
    "rocm": "relu_rocm.hip",
    "xpu": "relu_xpu.cpp",
}


@pytest.mark.parametrize("backends", [*((it,) for it in COMPILED), COMPILED])
def test_a_new_project_has_no_mistakes_and_no_doubts(
    tmp_path: Path, backends: tuple[str, ...]
) -> None:
    root = tmp_path / "my-relu"
    assert main(["init", str(root), "--name", "acme/my-relu", "--backends", *backends]) == 0
    tree = read_tree(root)
    assert not check_manifest(tree)
    assert not lint_sources(tree)
    assert tuple(tree.manifest.general.backends) == backends
    there = {it.name for it in (root / "my_relu").iterdir()}
    expected = {SOURCES[it] for it in backends} | {"relu.h"}
    assert there - {"relu.metal"} == expected
    compile((root / "tests/test_relu.py").read_text(), "test_relu.py", "exec")
    compile((root / "example.py").read_text(), "example.py", "exec")


@pytest.mark.parametrize("backend", [Backend.METAL, Backend.XPU])
def test_a_project_for_tools_that_are_elsewhere_is_generated(
    tmp_path: Path, backend: Backend
) -> None:
    """Generated, not compiled: nobody here has the compilers."""
    root = tmp_path / "my-relu"
    assert main(["init", str(root), "--name", "my-relu", "--backends", backend]) == 0
    plan = plan_elsewhere(read_tree(root), toolchain(), RULES[backend])
    texts = render_project([plan]).as_text()
    assert f"cmake/{backend}.cmake" in texts
    assert SOURCES[backend] in texts["CMakeLists.txt"]


def test_a_python_only_project_is_built_and_serves_every_backend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "my-relu"
    words = ["--framework", "torch-noarch", "--backends", "cpu,tpu,neuron,cann"]
    assert main(["init", str(root), "--name", "acme/my-relu", *words]) == 0
    assert not (root / "my_relu").exists()
    assert not (root / "torch-ext/torch_binding.cpp").exists()
    assert main(["build", str(root)]) == 0
    built = sorted(it.name for it in (root / "build").iterdir())
    assert built == ["torch-cpu", "torch-neuron", "torch-npu", "torch-tpu"]
    assert main(["fill-card", str(root), "-o", "-"]) == 0
    card = capsys.readouterr().out
    assert 'kernel = get_kernel("acme/my-relu", version=1)' in card
    assert "- `relu`" in card
    assert "license: apache-2.0" in card


def test_a_new_project_is_a_git_repository_of_its_own(tmp_path: Path) -> None:
    git = require_program("git", package="git")
    assert main(["init", str(tmp_path / "one"), "--name", "one"]) == 0
    assert (tmp_path / "one/.git").is_dir()
    subprocess.run([git, "init", "--quiet", str(tmp_path / "outer")], check=True)
    assert main(["init", str(tmp_path / "outer/two"), "--name", "two"]) == 0
    assert not (tmp_path / "outer/two/.git").exists()
    ignored = (tmp_path / "one/.gitignore").read_text().split()
    assert {"/build/", "/result"} <= set(ignored)


def test_without_git_the_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main(["init", str(tmp_path / "one"), "--name", "one"]) == 0
    assert "git is not installed" in capsys.readouterr().err
    assert (tmp_path / "one/build.toml").is_file()


def test_an_unusual_license_is_doubted_and_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "one"
    words = ["init", str(root), "--name", "one", "--license", 'Our "own" terms']
    assert main(words) == 0
    assert "is not an SPDX license expression" in capsys.readouterr().err
    assert main(["check-config", str(root), "--json"]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["license"] == 'Our "own" terms'
    assert "is not an SPDX license expression" in document["warnings"][0]["problem"]
    assert "warning: build.toml:5 general.license" in printed.err
    assert main(["check-config", str(root), "--strict"]) == 1
