from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import toolchain, write_kernel

from kernelmill.builder.backends import rules_for
from kernelmill.builder.package import finish_metadata, replace_folder, write_metadata
from kernelmill.builder.plan import plan_build
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend
from kernelmill.spec.digest import digest_files
from kernelmill.spec.metadata import SourceState, parse

if TYPE_CHECKING:
    from pathlib import Path


def make(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(it.relative_to(folder).as_posix() for it in folder.rglob("*"))


def test_replace_folder_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    new = make(tmp_path / "work/new", fresh="2")
    target = make(tmp_path / "build/variant", stale="1")
    replace_folder(new, target, trash=tmp_path / "work/old")
    assert names(tmp_path) == ["build", "build/variant", "build/variant/fresh", "work"]


def test_replace_folder_keeps_the_old_one_when_there_is_no_new_one(tmp_path: Path) -> None:
    target = make(tmp_path / "build/variant", stale="1")
    with pytest.raises(FileNotFoundError):
        replace_folder(tmp_path / "missing", target, trash=tmp_path / "old")
    assert names(target) == ["stale"]


def test_metadata_tells_where_a_build_comes_from(tmp_path: Path) -> None:
    plan = plan_build(read_tree(write_kernel(tmp_path)), toolchain(), rules_for(Backend.ROCM))
    folder = make(tmp_path / "variant", code="x")
    state = SourceState(commit="a" * 40, is_dirty=True)
    metadata = finish_metadata(
        plan, folder, source=state, compilers={"hip": "clang 22"}, inputs={"build.toml": "ab"}
    )
    write_metadata(folder, metadata)
    text = (folder / "metadata.json").read_text()
    assert parse(text, where="metadata.json") == metadata
    document = json.loads(text)
    assert document["id"] == plan.ops_name
    assert document["version"] == 3
    assert document["kernels-minver"] == "0.14.0"
    assert document["backend"] == {"type": "rocm", "archs": ["gfx942"]}
    assert document["digest"]["files"] == digest_files([("code", b"x")]).files
    assert document["provenance"]["kernel"] == {"commit": "a" * 40, "dirty": True}
    assert document["kernelmill"] == {
        "mode": "develop",
        "cross": True,
        "compilers": {"hip": "clang 22"},
        "inputs": {"build.toml": "ab"},
    }
