from __future__ import annotations

import sys
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import toolchain

from kernelmill.builder.errors import ToolchainError
from kernelmill.builder.toolchain import compiler_versions, probe_toolchain
from kernelmill.builder.toolchain.gpu import probe_local_archs
from kernelmill.builder.toolchain.torch import probe_torch
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from pathlib import Path


def write_interpreter(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_probe_torch_reads_the_installed_one() -> None:
    torch = probe_torch(sys.executable)
    assert torch.release.text.partition("+")[0] == metadata.version("torch").partition("+")[0]
    assert torch.has_cxx11_abi
    assert torch.lib.endswith("torch/lib")


def test_probe_torch_says_that_there_is_none(tmp_path: Path) -> None:
    python = write_interpreter(tmp_path / "python", f'exec {sys.executable} -S "$@"')
    with pytest.raises(ToolchainError, match="torch is not installed for") as caught:
        probe_torch(python)
    assert caught.value.exit_code == 3
    assert "pip install torch" in caught.value.hint


def test_probe_torch_says_why_the_interpreter_failed(tmp_path: Path) -> None:
    python = write_interpreter(tmp_path / "python", "echo broken >&2; exit 1")
    with pytest.raises(ToolchainError, match="cannot read the installed torch: broken"):
        probe_torch(python)


def test_probe_torch_says_that_the_interpreter_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"torch: .*/python does not run: .*No such file"):
        probe_torch(str(tmp_path / "python"))


@pytest.mark.parametrize(
    ("versions", "archs"),
    [
        pytest.param([], (), id="no-driver"),
        pytest.param([0], (), id="only-a-cpu"),
        pytest.param([0, 90402, 90402], ("gfx942",), id="two-of-a-kind"),
        pytest.param([90010, 110000], ("gfx1100", "gfx90a"), id="two-kinds"),
    ],
)
def test_probe_local_archs(tmp_path: Path, versions: list[int], archs: tuple[str, ...]) -> None:
    for number, version in enumerate(versions):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    assert probe_local_archs(tmp_path) == archs


def test_probe_toolchain_takes_archs_from_the_environment() -> None:
    found = probe_toolchain({"PYTORCH_ROCM_ARCH": "gfx942;gfx90a gfx942"}, python=sys.executable)
    assert found.default_archs == ("gfx90a", "gfx942")
    assert found.cmake.chosen is not None


def test_compiler_versions_name_those_that_a_backend_uses() -> None:
    assert compiler_versions(toolchain(), Backend.CPU, ()) == {"c++": "g++ 1.2"}
    assert compiler_versions(toolchain(), Backend.ROCM, ("gfx942",)) == {
        "c++": "g++ 1.2",
        "hip": "clang version 22.0.0",
    }
