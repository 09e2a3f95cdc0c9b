"""Variants that are named wrongly, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import write_kernel

from kernelmill.builder.cli import main
from kernelmill.builder.errors import SourceError
from kernelmill.builder.inspection import find_binary
from kernelmill.builder.trial.plan import only_named

if TYPE_CHECKING:
    from pathlib import Path

CPU = "torch213-cxx11-cpu-x86_64-linux"
ROCM = "torch213-cxx11-rocm71-x86_64-linux"
MANIFEST = """\
[general]
name = "soft-max"
version = 1
edition = 5
license = "MIT"
backends = ["cpu", "rocm"]

[torch-noarch]
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    return write_kernel(tmp_path / "soft-max", MANIFEST, {"torch-ext/soft_max/__init__.py": ""})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("torch-cppu", "'torch-cppu'\n  hint: did you mean 'torch-cpu'?"),
        (
            "torch-whateverdevice",
            "'torch-whateverdevice'\n  hint: name one of torch-cpu, torch-rocm",
        ),
        ("torch-xpu", "the kernel is not for xpu\n  hint: build one of torch-cpu, torch-rocm"),
    ],
)
def test_a_python_only_variant_is_not_taken_for_a_new_backend(
    kernel: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", str(kernel), "--variant", name]) == 2
    assert said in capsys.readouterr().err


def test_check_abi_says_that_nothing_is_compiled(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", str(kernel)]) == 0
    capsys.readouterr()
    assert main(["check-abi", str(kernel)]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "nothing here is compiled: there are no symbols to check\n")


def built(root: Path, *names: str, extension: str = "_x.abi3.so") -> None:
    for name in names:
        folder = root / "build" / name
        folder.mkdir(parents=True)
        (folder / "metadata.json").write_text("{}")
        if extension:
            (folder / extension).touch()


def test_inspect_takes_the_only_variant_of_a_kernel(tmp_path: Path) -> None:
    built(tmp_path, CPU)
    assert find_binary(tmp_path) == tmp_path / "build" / CPU / "_x.abi3.so"
    built(tmp_path, ROCM)
    with pytest.raises(SourceError, match="2 variants here") as caught:
        find_binary(tmp_path)
    place = tmp_path / "build"
    assert caught.value.hint == f"name one of {place / CPU}, {place / ROCM}"


def test_inspect_says_that_a_variant_is_python_only(tmp_path: Path) -> None:
    built(tmp_path, "torch-cpu", extension="")
    for folder in (tmp_path, tmp_path / "build/torch-cpu"):
        with pytest.raises(SourceError, match="Python only: there is no binary") as caught:
            find_binary(folder)
        assert caught.value.where.endswith("build/torch-cpu")


def test_tests_are_run_against_the_variants_that_are_named() -> None:
    assert only_named([CPU, ROCM], [], folder="gemm") == [CPU, ROCM]
    assert only_named([CPU, ROCM], [ROCM], folder="gemm") == [ROCM]
    with pytest.raises(SourceError, match="x86_64-linx is not built here") as caught:
        only_named([CPU, ROCM], [CPU.replace("linux", "linx")], folder="gemm")
    assert caught.value.hint == f"did you mean '{CPU}'?"
    with pytest.raises(SourceError, match="torch-xpu is not built here") as caught:
        only_named([CPU], ["torch-xpu"], folder="gemm")
    assert caught.value.hint == "run `kernel-builder build gemm --variant torch-xpu`"
