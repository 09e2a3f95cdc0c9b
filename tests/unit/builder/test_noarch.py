"""Python-only kernels (M8): planned, built, reviewed and tested without any tool."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import write_kernel

from kernelmill.builder.cli import main
from kernelmill.builder.errors import CheckError, PlanError
from kernelmill.builder.noarch.build import build_noarch
from kernelmill.builder.noarch.plan import choose_noarch, noarch_variants, plan_noarch
from kernelmill.builder.review import require_fresh, review_build
from kernelmill.builder.sources import read_tree
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.variant import NoarchVariant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.metadata import Metadata

MANIFEST = """\
[general]
name = "soft-max"
version = 2
edition = 5
license = "MIT"
backends = ["cpu", "cuda", "rocm", "cann"]
python-depends = ["einops"]

[general.cuda]
python-depends = ["nvidia-cutlass-dsl"]

[torch-noarch]
pyext = ["json"]
cuda_capabilities = ["9.0"]
rocm_archs = ["gfx942"]
"""
FILES = {
    "torch-ext/soft_max/__init__.py": "from ._ops import ops\n",
    "torch-ext/soft_max/inner/table.json": "{}\n",
    "torch-ext/soft_max/notes.md": "not shipped\n",
    "torch-ext/soft_max/__pycache__/__init__.cpython-311.pyc": "old",
}
OLD = {  # manifests from before a Python-only kernel had backends
    "edition-1": '[general]\nname = "soft-max"\n[torch]\nuniversal = true\nsrc = []\n',
    "edition-2": '[general]\nname = "soft-max"\nuniversal = true\n[torch]\nsrc = []\n',
}


def kernel(root: Path, manifest: str = MANIFEST, **changes: str) -> Path:
    files = FILES | {f"torch-ext/soft_max/{name}.py": text for name, text in changes.items()}
    return write_kernel(root, manifest, files)


def build(root: Path) -> dict[str, Metadata]:
    tree = read_tree(root)
    folders = [build_noarch(plan_noarch(tree, it), tree) for it in noarch_variants(tree)]
    texts = {it.name: (it / "metadata.json").read_text() for it in folders}
    return {name: metadata_format.parse(text, where=name) for name, text in texts.items()}


def test_build_makes_a_whole_variant_for_each_backend(tmp_path: Path) -> None:
    """M8, L8: each folder has metadata that lists all of its files."""
    built = build(kernel(tmp_path))
    assert list(built) == ["torch-cpu", "torch-cuda", "torch-rocm", "torch-npu"]
    for name, metadata in built.items():
        folder = tmp_path / "build" / name
        files = {it.relative_to(folder).as_posix() for it in folder.rglob("*") if it.is_file()}
        assert files == {"__init__.py", "_ops.py", "inner/table.json", "metadata.json"}
        assert metadata.digest is not None
        assert set(metadata.digest.files) == files - {"metadata.json"}
        assert f'"{metadata.id}"' in (folder / "_ops.py").read_text()
    assert [it.archs for it in built.values()] == [None, ("9.0",), ("gfx942",), None]
    assert [it.backend.value for it in built.values()] == ["cpu", "cuda", "rocm", "cann"]
    assert built["torch-cpu"].python_depends == ("einops",)
    assert built["torch-cuda"].python_depends == ("einops", "nvidia-cutlass-dsl")
    assert len({it.id for it in built.values()}) == 4


@pytest.mark.parametrize("manifest", OLD.values(), ids=OLD)
def test_build_of_an_old_manifest_is_universal(tmp_path: Path, manifest: str) -> None:
    built = build(kernel(tmp_path, manifest))
    assert list(built) == ["torch-universal"]
    assert built["torch-universal"].id.startswith("_soft_max_universal_")
    assert built["torch-universal"].archs is None


def test_build_gives_equal_bytes_in_another_folder(tmp_path: Path) -> None:
    """C14: the id is made of contents."""
    first, second = build(kernel(tmp_path / "a")), build(kernel(tmp_path / "b"))
    assert first == second
    other = build(kernel(tmp_path / "c", extra="x = 1\n"))
    assert first["torch-cpu"].id != other["torch-cpu"].id


def test_build_ignores_an_ops_module_of_another_build(tmp_path: Path) -> None:
    plain, beside = build(kernel(tmp_path / "a")), build(kernel(tmp_path / "b", _ops="stale"))
    assert plain == beside


def test_build_refuses_imports_of_the_kernel_by_its_name(tmp_path: Path) -> None:
    root = kernel(tmp_path)
    build(root)
    before = (root / "build/torch-cpu/metadata.json").read_text()
    kernel(root, extra="import soft_max.inner\n")
    with pytest.raises(CheckError, match=r"extra\.py:1: absolute import of 'soft_max\.inner'"):
        build(root)
    assert (root / "build/torch-cpu/metadata.json").read_text() == before


def test_review_finds_changed_files_and_changed_sources(tmp_path: Path) -> None:
    root = kernel(tmp_path)
    build(root)
    assert review_build(root) == ("torch-cpu", "torch-cuda", "torch-npu", "torch-rocm")
    kernel(root, extra="x = 1\n")
    with pytest.raises(CheckError, match="the sources have changed since this build"):
        require_fresh(root / "build/torch-cpu", root)
    build(root)
    (root / "build/torch-cpu/extra.py").write_text("import soft_max\n")
    with pytest.raises(CheckError, match=r"(?s)File hash mismatch.*absolute import of 'soft_max'"):
        review_build(root)


def test_choice_of_variants(tmp_path: Path) -> None:
    tree = read_tree(kernel(tmp_path))
    chosen = choose_noarch(tree, backends=["rocm,cpu", "rocm"])
    assert [str(it) for it in chosen] == ["torch-rocm", "torch-cpu"]
    assert choose_noarch(tree, variants=["torch-universal"]) == (NoarchVariant(name="universal"),)
    with pytest.raises(PlanError, match="the kernel is not for xpu") as caught:
        choose_noarch(tree, backends=["xpu"])
    assert caught.value.hint.startswith("build one of torch-cpu, torch-cuda, torch-rocm, torch-npu")
    with pytest.raises(PlanError, match="is compiled, and the kernel is Python only"):
        choose_noarch(tree, variants=["torch213-cxx11-cpu-x86_64-linux"])


def test_build_command_needs_no_torch_and_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing of this machine is needed")

    monkeypatch.setattr("kernelmill.builder.toolchain.probe_toolchain", refuse)
    root = kernel(tmp_path)
    assert main(["build", str(root), "--backend", "cuda", "--json"]) == 0
    [variant] = json.loads(capsys.readouterr().out)["variants"]
    assert (variant["variant"], variant["archs"]) == ("torch-cuda", ["9.0"])
    assert main(["list-variants", str(root)]) == 0
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "torch-cuda (9.0)  Python only",
        "torch-rocm (gfx942)  Python only",
    ]
    assert main(["check-config", str(root)]) == 0
    assert main(["build", str(root), "--rocm", "7.1"]) == 2
    assert "a Python-only kernel is linked for no ROCm" in capsys.readouterr().err
    assert main(["build", str(root), "--all", "--torch", "2.13"]) == 2
    assert "a Python-only kernel is compiled against no torch" in capsys.readouterr().err
    assert main(["build", str(root), "--variant", "torch-cpu", "--backend", "cpu"]) == 2
    assert "--variant names the backend already" in capsys.readouterr().err


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def dirtiness(root: Path) -> bool | None:
    provenance = build(root)["torch-cpu"].provenance
    assert provenance is not None
    return provenance.kernel.is_dirty


def test_provenance_says_whether_the_commit_holds_the_sources(tmp_path: Path) -> None:
    """C14: outside git, clean, untracked files that no build reads, untracked sources, dirty."""
    root = kernel(tmp_path)
    assert dirtiness(root) is None
    git(root, "init", "-q")
    git(root, "add", "build.toml", "torch-ext")
    git(root, "commit", "-qm", "all")
    assert dirtiness(root) is False
    (root / "kernels.lock").write_text("[]")
    assert dirtiness(root) is False
    kernel(root, extra="x = 1\n")
    assert dirtiness(root) is True
    git(root, "add", "torch-ext")
    git(root, "commit", "-qm", "more")
    assert dirtiness(root) is False
    kernel(root, extra="x = 2\n")
    assert dirtiness(root) is True
