"""Generated projects: their options, their refusals, and the old names of the commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import FILES, MANIFEST, toolchain, write_kernel

from kernelmill.builder.cli import build2cmake, main, project

if TYPE_CHECKING:
    from pathlib import Path

SHA = "0123456789" * 4
ELSEWHERE = MANIFEST.replace('["cpu", "rocm"]', '["cpu", "metal", "xpu"]').partition(
    "\n[kernel.relu_rocm]"
)[0] + (
    '\n[kernel.relu_metal]\nbackend = "metal"\ndepends = ["torch"]\n'
    'src = ["relu/relu.metal", "relu/relu.mm"]\n'
    '\n[kernel.relu_xpu]\nbackend = "xpu"\ndepends = ["torch"]\n'
    'sycl-flags = ["-fsycl-targets=spir64"]\nsrc = ["relu/relu_xpu.cpp"]\n'
)


@pytest.fixture(autouse=True)
def made_up_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "probe_toolchain", lambda *_, **__: toolchain())


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    return write_kernel(tmp_path / "kernel")


def test_create_refuses_to_overwrite_in_the_words_of_upstream(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kernel / "setup.py").write_text("mine")
    (kernel / "pyproject.toml").write_text("mine")
    assert main(["create-pyproject", str(kernel)]) == 2
    assert (
        "File(s) already exists in target directory: pyproject.toml, setup.py\n"
        "Use `--force` to overwrite.\n"
    ) in capsys.readouterr().err
    assert not (kernel / "CMakeLists.txt").exists()
    assert main(["create-pyproject", str(kernel), "-f"]) == 0
    assert (kernel / "setup.py").read_text() != "mine"


def test_create_writes_what_it_is_told_of_the_build(kernel: Path) -> None:
    words = ["--unique-id", "abc_1", "--kernel-sha", SHA, "--kernel-dirty"]
    assert main(["create-pyproject", str(kernel), *words]) == 0
    for backend in ("cpu", "rocm"):
        metadata = json.loads((kernel / f"metadata-{backend}.json").read_text())
        assert metadata["id"] == f"_my_relu_{backend}_abc_1"
        assert metadata["provenance"]["kernel"] == {"commit": SHA, "dirty": True}
    assert "set(KERNEL_OPS_NAME _my_relu_cpu_abc_1)" in (kernel / "CMakeLists.txt").read_text()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--unique-id", "a-b"], "--unique-id: 'a-b' cannot be part of an operator's name"),
        (["--kernel-sha", "123"], "--kernel-sha: '123' is not a git object id"),
        (["--kernel-dirty"], "--kernel-dirty says something of a commit"),
    ],
)
def test_create_refuses_what_cannot_be(
    kernel: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["create-pyproject", str(kernel), *words]) == 2
    assert text in capsys.readouterr().err


def test_clean_removes_what_create_wrote(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {it for it in kernel.rglob("*") if it.is_file()}
    assert main(["create-pyproject", str(kernel)]) == 0
    assert main(["clean-pyproject", str(kernel), "--dry-run"]) == 0
    assert "setup.py" in capsys.readouterr().out
    (kernel / "setup.py").write_text("changed")
    assert main(["clean-pyproject", str(kernel)]) == 2
    assert main(["clean-pyproject", str(kernel), "--force"]) == 0
    assert {it for it in kernel.rglob("*") if it.is_file()} == before


def test_create_writes_projects_that_other_machines_build(tmp_path: Path) -> None:
    files = FILES | {"relu/relu.metal": "", "relu/relu.mm": "", "relu/relu_xpu.cpp": ""}
    root = write_kernel(tmp_path, ELSEWHERE, files)
    assert main(["create-pyproject", str(root)]) == 0
    text = (root / "CMakeLists.txt").read_text()
    assert "VARIANT torch213-metal-aarch64-darwin" in text
    assert "VARIANT torch213-cxx11-xpu20253-x86_64-linux" in text
    assert '"-fsycl-targets=spir64"' in text
    assert "enable_language(OBJCXX)" in text
    assert (root / "cmake/metallib_to_header.py").exists()
    for backend in ("cpu", "metal", "xpu"):
        assert json.loads((root / f"metadata-{backend}.json").read_text())["backend"] == {
            "type": backend
        }


def test_project_of_a_python_only_kernel_has_no_cmake(tmp_path: Path) -> None:
    manifest = (
        '[general]\nname = "soft-max"\nversion = 1\nedition = 5\nlicense = "MIT"\n'
        'backends = ["cpu", "rocm"]\n\n[torch-noarch]\npyext = ["json"]\n'
    )
    root = write_kernel(tmp_path, manifest, {"torch-ext/soft_max/__init__.py": ""})
    assert main(["create-pyproject", str(root), "--unique-id", "x"]) == 0
    files = {it.relative_to(root).as_posix() for it in root.rglob("*") if it.is_file()}
    assert files - {"build.toml", "torch-ext/soft_max/__init__.py"} == {
        "metadata-cpu.json",
        "metadata-rocm.json",
        "pyproject.toml",
        "setup.py",
        "torch-ext/soft_max/_ops.py",
    }
    ops = (root / "torch-ext/soft_max/_ops.py").read_text()
    assert '"rocm": "_soft_max_rocm_x"' in ops
    compile(ops, "_ops.py", "exec")
    compile((root / "setup.py").read_text(), "setup.py", "exec")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("generate-torch build.toml -f", "create-pyproject . --force"),
        ("generate-torch a/build.toml out --ops-id x", "create-pyproject a out --unique-id x"),
        ("generate a --backend cpu", "create-pyproject a --backend cpu"),
        ("clean build.toml --dry-run", "clean-pyproject . --dry-run"),
        ("validate build.toml", "check-config ."),
        ("update-build build.toml", "update-build ."),
    ],
)
def test_old_commands_have_new_names(old: str, new: str) -> None:
    assert build2cmake.translate(old.split()) == new.split()


def test_build2cmake_writes_the_project_and_says_its_new_name(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build2cmake.main(["generate-torch", str(kernel / "build.toml"), "-f"]) == 0
    told = f"build2cmake is now: kernel-builder create-pyproject {kernel} --force"
    assert capsys.readouterr().err.startswith(told)
    assert (kernel / "CMakeLists.txt").exists()
