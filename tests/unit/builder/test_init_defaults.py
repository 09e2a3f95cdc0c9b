"""What `init` does when it is told little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.cli import main
from kernelmill.builder.noarch.plan import noarch_variants
from kernelmill.builder.sources import read_tree

if TYPE_CHECKING:
    from pathlib import Path


def test_a_kernel_without_a_name_is_called_like_its_folder(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "my-relu")]) == 0
    general = read_tree(tmp_path / "my-relu").manifest.general
    assert (str(general.name), general.hub.repo_id) == ("my-relu", None)


def test_python_only_is_for_gpus_too_unless_told_otherwise(tmp_path: Path) -> None:
    root = tmp_path / "my-relu"
    assert main(["init", str(root), "--framework", "torch-noarch"]) == 0
    names = [str(it) for it in noarch_variants(read_tree(root))]
    assert names == ["torch-cpu", "torch-cuda", "torch-rocm"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "kernel-builder: the new kernel needs a name\n  hint: kernel-builder init my-relu"),
        (["My_Relu"], "the folder's name, as there is no --name: invalid kernel name 'My_Relu'"),
        (["x1", "--backends", "noarch"], "--backends: 'noarch' is no backend\n  hint: write --fra"),
        (["x1", "--backend", "cpu,triton"], "--backends: 'triton' is no backend\n  hint: write --"),
    ],
)
def test_mistakes_are_one_clear_error(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", *words]) == 2
    assert said in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
