"""Bugs that users of kernel builders have reported, by their numbers in our list."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.conftest import require_program
from tests.unit.builder.fakes import FILES, MANIFEST, toolchain, write_kernel

from kernelmill.builder import toolchain as toolchain_module
from kernelmill.builder.backends import rules_for
from kernelmill.builder.cli import main
from kernelmill.builder.errors import PlanError
from kernelmill.builder.plan import plan_build
from kernelmill.builder.render import render_project
from kernelmill.builder.render.metadata import draft_metadata
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain import probe_toolchain
from kernelmill.builder.toolchain.git import probe_source_state
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.plan import BuildPlan

TWO_ARCHS = MANIFEST + (
    '\n[kernel.other]\nbackend = "rocm"\ndepends = ["torch"]\n'
    'rocm-archs = ["gfx90a"]\nsrc = ["relu/other.hip"]\n'
)


def plan(root: Path, backend: Backend = Backend.CPU) -> BuildPlan:
    return plan_build(read_tree(root), toolchain(), rules_for(backend))


@pytest.mark.parametrize(
    ("sources", "archs"),
    [
        pytest.param(('["gfx942"]', "gfx90a", ("gfx1100",)), ("gfx942",), id="manifest-first"),
        pytest.param(("", "gfx90a;gfx942", ("gfx1",)), ("gfx90a", "gfx942"), id="then-variable"),
        pytest.param(("", "", ("gfx942",)), ("gfx942",), id="then-the-gpus-here"),
        pytest.param(("", "", ()), None, id="else-an-error"),
    ],
)
def test_m5_archs_come_from_manifest_environment_or_gpu(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sources: tuple[str, str, tuple[str, ...]],
    archs: tuple[str, ...] | None,
) -> None:
    manifest, variable, local = sources
    monkeypatch.setattr(toolchain_module, "probe_local_archs", lambda: local)
    monkeypatch.setattr(toolchain_module, "probe_hip_compilers", lambda **_: toolchain().hip)
    monkeypatch.setattr(toolchain_module, "probe_torch", lambda _: toolchain().torch)
    tools = probe_toolchain({"PYTORCH_ROCM_ARCH": variable}, python="python3")
    line = f"rocm-archs = {manifest}\n" if manifest else ""
    text = MANIFEST.replace('rocm-archs = ["gfx942"]\n', line)
    tree = read_tree(write_kernel(tmp_path, text))
    if archs is None:
        with pytest.raises(PlanError, match="no device architecture is named") as caught:
            plan_build(tree, tools, rules_for(Backend.ROCM))
        assert caught.value.hint == (
            'write rocm-archs = ["gfx942"], or set PYTORCH_ROCM_ARCH=gfx942'
        )
    else:
        assert plan_build(tree, tools, rules_for(Backend.ROCM)).archs == archs


def test_c8_each_kernel_is_compiled_for_its_own_archs(tmp_path: Path) -> None:
    root = write_kernel(tmp_path, TWO_ARCHS, FILES | {"relu/other.hip": ""})
    it = plan(root, Backend.ROCM)
    lists = render_project([it]).as_text()["CMakeLists.txt"]
    first, second = lists.split("kernel_device_component(")[1:]
    assert ("relu/relu.hip" in first, 'ARCHS "gfx942")' in first) == (True, True)
    assert ("relu/other.hip" in second, 'ARCHS "gfx90a")' in second) == (True, True)
    assert draft_metadata(it).archs == ("gfx90a", "gfx942")


def test_c13_kernel_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_kernel(tmp_path / "a folder" / "my kernel")
    (tmp_path / "link").symlink_to(root)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    said = set()
    for folder, argument in (
        (elsewhere, "../a folder/my kernel"),
        (elsewhere, str(root)),
        (elsewhere, "../link"),
        (elsewhere, "../link/build.toml"),
        (root, ""),
        (root / "relu", ".."),
    ):
        monkeypatch.chdir(folder)
        assert main(["check-config", *filter(None, [argument])]) == 0
        said.add(capsys.readouterr().out)
    assert said == {"my-relu version 3 for cpu, rocm: 5 files\n"}


def test_c13_error_names_the_absolute_path_that_was_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "not here").mkdir()
    monkeypatch.chdir(tmp_path)
    for command in ("build", "list-variants", "check-config"):
        assert main([command, "not here"]) == 2
        assert f"{tmp_path / 'not here'}: no build.toml here" in capsys.readouterr().err


def test_c14_id_is_a_function_of_the_contents_alone(tmp_path: Path) -> None:
    first = write_kernel(tmp_path / "first")
    second = write_kernel(tmp_path / "second" / "deeper")
    (second / "kernels.lock").write_text("untracked, and named by nothing")
    ids = {(it := plan(root)).unique_id for root in (first, first, second)}
    assert ids == {it.unique_id}
    (second / "relu/relu.h").write_text("// changed\n")
    assert plan(second).unique_id not in ids


def test_c14_tree_is_dirty_when_tracked_files_changed_and_only_then(tmp_path: Path) -> None:
    git = require_program("git", package="git")
    root = write_kernel(tmp_path)

    def run(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        command = [git, "-C", str(root), *identity, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    assert probe_source_state(root) is None
    clean_id = plan(root).unique_id
    run("init")
    run("add", ".")
    run("commit", "-m", "first")
    (root / "kernels.lock").write_text("untracked")
    state = probe_source_state(root)
    assert state is not None
    assert state.is_dirty is False
    assert plan(root).unique_id == clean_id
    (root / "relu/relu.cpp").write_text("// changed\n")
    state = probe_source_state(root)
    assert state is not None
    assert state.is_dirty is True
    assert plan(root).unique_id != clean_id
    shutil.rmtree(root / ".git")
    assert probe_source_state(root) is None
