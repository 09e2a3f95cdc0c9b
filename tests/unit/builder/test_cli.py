from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import MANIFEST, write_kernel

from kernelmill.builder.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def test_check_config_says_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-config", str(write_kernel(tmp_path))]) == 0
    assert capsys.readouterr().out == "my-relu version 3 for cpu, rocm: 5 files\n"


def test_folder_may_be_named_by_its_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_kernel(tmp_path))
    for named in ("build.toml", str(tmp_path / "build.toml")):
        assert main(["check-config", named]) == 0
        assert capsys.readouterr().out == "my-relu version 3 for cpu, rocm: 5 files\n"


def test_check_config_lists_every_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = MANIFEST.replace('backend = "cpu"', 'backend = "cpuu"').replace("license", "licence")
    assert main(["check-config", str(write_kernel(tmp_path, manifest))]) == 2
    errors = capsys.readouterr().err
    assert "build.toml:12 kernel.relu_cpu.backend: unknown backend 'cpuu'" in errors
    assert "build.toml:5 general.licence: unknown key 'licence'" in errors


def test_check_config_lists_what_build_would_refuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = MANIFEST.replace('["gfx942"]', '["gfx942", "gfx9422", "gfx1777"]')
    before, table, after = manifest.partition("[kernel.relu_cpu]")
    manifest = before + after[after.index("[kernel.relu_rocm]") :]
    assert main(["check-config", str(write_kernel(tmp_path, manifest))]) == 2
    errors = capsys.readouterr().err
    assert table not in manifest
    assert "the kernel lists cpu, but no [kernel.NAME] has backend = 'cpu'" in errors
    assert "kernel.relu_rocm.rocm-archs[1]: no AMD architecture is called 'gfx9422'" in errors
    assert "hint: did you mean gfx942?" in errors
    assert "rocm-archs[2]: no AMD architecture is called 'gfx1777'" in errors


def test_check_config_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-config", "--json", str(write_kernel(tmp_path))]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    assert document["backends"] == ["cpu", "rocm"]
    assert "relu/relu.h" in document["files"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["--name", "Bad_Name"], "invalid kernel name 'Bad_Name'", id="name"),
        pytest.param(["--name", "a/b/c"], "'a/b/c' is not a repository id", id="repository"),
        pytest.param(
            ["--name", "x1", "--backends", "tpu"], "kernels for tpu are Python only", id="tpu"
        ),
        pytest.param(["--name", "x1", "--backends", ""], "unknown backend ''", id="no-backend"),
    ],
)
def test_init_refuses_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert main(["init", str(tmp_path / "new"), *arguments]) == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_init_keeps_existing_files_without_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "build.toml").write_text("mine")
    assert main(["init", str(tmp_path), "--name", "my-relu"]) == 2
    assert "this would overwrite 1 file:\n  build.toml" in capsys.readouterr().err
    assert [it.name for it in tmp_path.iterdir()] == ["build.toml"]
    assert main(["init", str(tmp_path), "--name", "my-relu", "--overwrite"]) == 0
    assert 'name = "my-relu"' in (tmp_path / "build.toml").read_text()


def test_create_and_clean_leave_the_sources_as_they_were(tmp_path: Path) -> None:
    root = write_kernel(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["create-pyproject", str(root), "--backend", "cpu"]) == 0
    assert (root / "torch-ext/registration.h").is_file()
    assert main(["create-pyproject", str(root), "--backend", "cpu"]) == 0
    assert main(["clean-pyproject", str(root), "--backend", "cpu"]) == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_create_pyproject_in_another_folder_points_back(tmp_path: Path) -> None:
    root = write_kernel(tmp_path / "kernel")
    assert main(["create-pyproject", str(root), str(tmp_path / "out"), "--backend", "cpu"]) == 0
    text = (tmp_path / "out/CMakeLists.txt").read_text()
    assert 'set(KERNEL_ROOT "${CMAKE_SOURCE_DIR}/../kernel"' in text


def test_doctor_reports_every_tool(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [it["name"] for it in document["tools"]] == [
        "torch",
        "Python headers",
        "C++ compiler",
        "cmake",
        "ninja",
        "compiler for AMD GPUs",
        "compiler for NVIDIA GPUs",
        "ccache",
    ]
    assert document["missing"] == []
    assert document["jobs"] >= 1


def test_doctor_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    assert main(["doctor"]) == 3
    printed = capsys.readouterr().out
    assert "no   $CXX /nowhere/g++: not found" in printed
    assert "nothing can be built: no C++ compiler" in printed


def test_doctor_says_what_is_missing_when_nothing_has_a_path(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ROCM_PATH", "ROCM_HOME"):
        monkeypatch.delenv(name, raising=False)
    main(["doctor"])
    printed = capsys.readouterr().out
    assert "no   ROCM_PATH or ROCM_HOME: not found" in printed
    assert "::" not in printed


def test_upload_needs_a_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upload", str(write_kernel(tmp_path))]) == 2
    assert "no build variants here" in capsys.readouterr().err
