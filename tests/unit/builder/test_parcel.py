"""What another machine sends is read before it is believed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import toolchain, write_kernel

from kernelmill.builder.errors import CheckError, SdkError
from kernelmill.builder.package import finish_metadata, write_metadata
from kernelmill.builder.pipeline import plan_goal
from kernelmill.builder.request import Goal
from kernelmill.builder.runners import arrival
from kernelmill.builder.runners.arrival import install_variant, read_metadata
from kernelmill.builder.runners.parcel import (
    File,
    PackedSdk,
    install_sdk,
    pack_folder,
    pack_sdk,
    pack_sources,
    write_files,
)
from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.store import Sdk, Store
from kernelmill.builder.sources import KernelTree, read_tree
from kernelmill.spec.backend import Backend
from kernelmill.spec.metadata import Metadata, parse

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.variant import ArchVariant


@pytest.fixture
def tree(tmp_path: Path) -> KernelTree:
    return read_tree(write_kernel(tmp_path / "kernel"))


@pytest.fixture
def variant(tree: KernelTree) -> ArchVariant:
    return plan_goal(Goal(backend=Backend.CPU), tree, toolchain()).variant


@pytest.fixture
def files(tree: KernelTree, tmp_path: Path) -> tuple[File, ...]:
    """Return a finished variant of the kernel, whose module is no real one."""
    folder = tmp_path / "elsewhere"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "data/run").write_text("")
    (folder / "data/run").chmod(0o755)
    plan = plan_goal(Goal(backend=Backend.CPU), tree, toolchain())
    write_metadata(folder, finish_metadata(plan, folder, source=None, compilers={}, inputs={}))
    return pack_folder(folder)


def test_sources_are_those_that_the_manifest_names(tree: KernelTree, tmp_path: Path) -> None:
    (tree.root / "secret.txt").write_text("mine")
    (tree.root / "LICENSE").write_text("MIT")
    packed = pack_sources(tree)
    assert {it.path for it in packed} == {"build.toml", "LICENSE", *tree.files}
    write_files(packed, tmp_path / "there")
    there = read_tree(tmp_path / "there")
    assert (there.files, there.manifest_sha256) == (tree.files, tree.manifest_sha256)


@pytest.mark.parametrize("path", ["../up", "/etc/passwd", "a/../../up", ""])
def test_path_that_leads_out_of_the_folder_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="leads out of the folder"):
        write_files([File(path, b"")], tmp_path / "in")
    assert not (tmp_path / "up").exists()


def test_variant_is_put_in_place_as_a_whole(
    tree: KernelTree,
    variant: ArchVariant,
    files: tuple[File, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arrival, "check_variant", lambda *_: ())
    target = tree.root / "build" / str(variant)
    target.mkdir(parents=True)
    (target / "of-an-earlier-build").write_text("")
    assert install_variant(files, tree, variant) == target
    assert {it.name for it in target.iterdir()} == {"__init__.py", "data", "metadata.json"}
    assert (target / "data/run").stat().st_mode & 0o100
    assert not (target / "__init__.py").stat().st_mode & 0o100


def test_binary_of_another_machine_is_checked_again(
    tree: KernelTree, variant: ArchVariant, files: tuple[File, ...]
) -> None:
    with pytest.raises(CheckError, match="extension"):
        install_variant(files, tree, variant)
    assert not (tree.root / "build").exists()


def test_damaged_variant_is_refused(
    tree: KernelTree, variant: ArchVariant, files: tuple[File, ...]
) -> None:
    changed = [replace(it, content=b"#") if it.path == "__init__.py" else it for it in files]
    with pytest.raises(
        CheckError, match=r"arrived damaged: File hash mismatch for __init__\.py: expected"
    ):
        read_metadata(changed, tree, variant)
    with pytest.raises(CheckError, match="arrived damaged: Unknown file: more"):
        read_metadata((*files, File("more", b"")), tree, variant)
    with pytest.raises(CheckError, match="arrived damaged: Missing file: data/run"):
        read_metadata([it for it in files if it.path != "data/run"], tree, variant)


def test_variant_of_other_sources_is_refused(
    tree: KernelTree, variant: ArchVariant, files: tuple[File, ...]
) -> None:
    assert read_metadata(files, tree, variant).name == "my-relu"
    (tree.root / "relu/relu.cpp").write_text("// changed meanwhile\n")
    with pytest.raises(CheckError, match=r"is called '_my_relu_cpu_\w+'; these sources give"):
        read_metadata(files, read_tree(tree.root), variant)


def test_commit_is_that_of_the_sources_here(
    tree: KernelTree,
    variant: ArchVariant,
    files: tuple[File, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kernelmill.spec.metadata import SourceState

    state = SourceState(commit="a" * 40, is_dirty=False)
    monkeypatch.setattr(arrival, "check_variant", lambda *_: ())
    monkeypatch.setattr(arrival, "probe_source_state", lambda *_: state)
    folder = install_variant(files, tree, variant)
    metadata: Metadata = parse((folder / "metadata.json").read_text(), where="metadata.json")
    assert metadata.provenance is not None
    assert metadata.provenance.kernel == state


def write_sdk(folder: Path) -> Sdk:
    tree = folder / "tree"
    tree.mkdir(parents=True)
    (tree / "header.h").write_text("#pragma once\n")
    (tree / "link.h").symlink_to("header.h")
    record = SdkRecord(
        kind="torch",
        version="2.12.0",
        platform="x86_64-linux",
        inputs=(),
        nar_sha256=nar_sha256(tree),
    )
    return Sdk(record=record, folder=folder)


def test_sdk_arrives_as_it_was(tmp_path: Path) -> None:
    sdk, store = write_sdk(tmp_path / "torch-2.12.0"), Store(tmp_path / "theirs")
    install_sdk(pack_sdk(sdk), store)
    (there,) = store.installed()
    assert there.record == sdk.record
    assert store.verify(there) == ""


def test_sdk_that_is_not_what_it_says_is_refused(tmp_path: Path) -> None:
    sdk, store = write_sdk(tmp_path / "torch-2.12.0"), Store(tmp_path / "theirs")
    packed = pack_sdk(sdk)
    (sdk.tree / "header.h").write_text("// another\n")
    changed = PackedSdk(record=packed.record, archive=pack_sdk(sdk).archive)
    with pytest.raises(SdkError, match=r"the SDK torch-2\.12\.0 arrived damaged"):
        install_sdk(changed, store)
    assert store.installed() == ()
