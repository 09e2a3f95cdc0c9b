from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import MANIFEST, toolchain, write_kernel

from kernelmill.builder.backends import rules_for
from kernelmill.builder.cli import main
from kernelmill.builder.package import finish_metadata, write_metadata
from kernelmill.builder.plan import plan_build
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain.host import probe_cpu
from kernelmill.builder.toolchain.torch import probe_torch
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from pathlib import Path

CHANGED = "the sources have changed since this build"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """Return a kernel with a variant for the CPU that is complete but for the compiled module."""
    root = write_kernel(tmp_path)
    tools = toolchain(torch=str(probe_torch(sys.executable).release), cpu=probe_cpu())
    plan = plan_build(read_tree(root), tools, rules_for(Backend.CPU))
    folder = root / "build" / str(plan.variant)
    folder.mkdir(parents=True)
    write_metadata(folder, finish_metadata(plan, folder, source=None, compilers={}, inputs={}))
    return root


@pytest.mark.parametrize(
    ("path", "is_stale"),
    [
        pytest.param("relu/relu.cpp", True, id="source"),
        pytest.param("relu/relu.h", True, id="header"),
        pytest.param("torch-ext/my_relu/__init__.py", True, id="python"),
        pytest.param("relu/relu.hip", False, id="other-backend"),
        pytest.param("notes.txt", False, id="unnamed"),
    ],
)
def test_upload_refuses_a_build_when_its_sources_changed(
    kernel: Path, capsys: pytest.CaptureFixture[str], *, path: str, is_stale: bool
) -> None:
    (kernel / path).write_text("# changed\n")
    assert main(["upload", "--dry-run", str(kernel)]) == 1  # the module is not there either
    errors = capsys.readouterr().err
    assert (CHANGED in errors) is is_stale
    assert ("run `kernel-builder build --variant torch" in errors) is is_stale


def test_upload_cannot_tell_of_a_build_without_its_sources(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernel / "build.toml").unlink()
    assert main(["upload", "--dry-run", str(kernel)]) == 1
    errors = capsys.readouterr().err
    assert "want one compiled extension, found none" in errors
    assert CHANGED not in errors


def test_upload_refuses_a_build_when_the_manifest_changed(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernel / "build.toml").write_text(MANIFEST.replace("MIT", "Apache-2.0"))
    assert main(["upload", "--dry-run", str(kernel)]) == 1
    assert CHANGED in capsys.readouterr().err


def test_test_refuses_a_build_when_its_sources_changed(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernel / "tests").mkdir()
    (kernel / "relu/relu.cpp").write_text("// changed\n")
    assert main(["test", str(kernel)]) == 1
    assert CHANGED in capsys.readouterr().err
