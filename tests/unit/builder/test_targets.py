from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import toolchain, write_kernel

from kernelmill.binary.symbols import Linkage, Reference
from kernelmill.builder.errors import PlanError, SdkMissing, ToolchainError
from kernelmill.builder.pipeline import plan_goal, unseen_symbols
from kernelmill.builder.request import Goal
from kernelmill.builder.sdk.format import SdkInput, SdkRecord
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sources import read_tree
from kernelmill.builder.targets import find_target
from kernelmill.spec.backend import Backend
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.toolchain.torch import TorchTarget


def variant(name: str) -> ArchVariant:
    found = parse_variant(name)
    assert isinstance(found, ArchVariant)
    return found


def add_torch(store: Store, version: str, **facts: str) -> None:
    with store.scratch() as scratch:
        (scratch / "tree").mkdir()
        record = SdkRecord(
            kind="torch",
            version=version,
            platform="x86_64-linux",
            inputs=(SdkInput(name="torch", version="1", file="torch.whl", sha256="a" * 64),),
            facts={"version": version, "cxx11-abi": "yes", **facts},
            nar_sha256="b" * 64,
        )
        store.install(record, scratch / "tree")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store with torch 2.11, 2.12 and 2.13, for CUDA 13."""
    found = Store(tmp_path / "sdks")
    for version in ("2.11.0+cu130", "2.12.0+cu130", "2.13.0+cu130"):
        add_torch(found, version, cuda="13.0")
    return found


def find(name: str, store: Store, torch: str = "2.13.0+cpu") -> TorchTarget:
    return find_target(variant(name), toolchain(torch), store)


@pytest.mark.parametrize(
    ("name", "release", "is_installed"),
    [
        pytest.param("torch213-cxx11-cpu-x86_64-linux", "2.13.0+cpu", True, id="installed"),
        pytest.param("torch212-cxx11-cpu-x86_64-linux", "2.12.0+cu130", False, id="sdk"),
        pytest.param("torch211-cxx11-rocm64-x86_64-linux", "2.11.0+cu130", False, id="rocm"),
        pytest.param("torch213-cxx11-cu130-x86_64-linux", "2.13.0+cu130", False, id="cuda"),
        pytest.param("torch-stable-abi210-cpu-x86_64-linux", "2.13.0+cpu", True, id="stable"),
    ],
)
def test_target_is_the_installed_torch_where_it_fits(
    store: Store, name: str, release: str, is_installed: bool
) -> None:
    found = find(name, store)
    assert (str(found.release), found.is_installed) == (release, is_installed)


def test_stable_abi_takes_the_oldest_sdk_that_is_new_enough(store: Store) -> None:
    found = find("torch-stable-abi212-cpu-x86_64-linux", store, torch="2.10.0")
    assert str(found.release) == "2.12.0+cu130"


@pytest.mark.parametrize(
    ("name", "problem", "hint"),
    [
        pytest.param(
            "torch210-cxx11-cpu-x86_64-linux",
            "the SDK torch-2.10 is not here",
            "kernel-builder sdk fetch torch-2.10",
            id="unknown-series",
        ),
        pytest.param(
            "torch212-cxx98-cpu-x86_64-linux",
            "the SDK torch-2.12.0 is not here",
            "kernel-builder sdk fetch torch-2.12.0",
            id="string-abi",
        ),
        pytest.param(
            "torch212-cxx11-cu126-x86_64-linux",
            "the SDKs of torch 2.12.0 that are here are for CUDA 13.0, not for CUDA 12",
            "kernel-builder sdk fetch torch-2.12.0+cu126; with --from FOLDER where no index has "
            "that wheel",
            id="cuda",
        ),
    ],
)
def test_what_is_missing_is_named(store: Store, name: str, problem: str, hint: str) -> None:
    with pytest.raises(SdkMissing) as caught:
        find(name, store)
    assert (caught.value.problem, caught.value.hint) == (problem, hint)
    assert f"fetch {caught.value.name}" in hint


def test_other_platforms_are_refused_before_any_sdk_is_asked_for(store: Store) -> None:
    with pytest.raises(PlanError, match="this machine builds for x86_64-linux") as caught:
        find("torch210-cxx11-cpu-aarch64-linux", store)
    assert caught.value.hint == "build it on aarch64-linux"


def test_plan_against_an_sdk_says_so(store: Store, tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path / "kernel"))
    goal = Goal.of(variant("torch212-cxx11-cpu-x86_64-linux"))
    plan = plan_goal(goal, tree, toolchain(), store=store)
    assert plan.variant == goal.variant
    assert plan.is_cross
    assert plan.torch is not None
    assert plan.against == "the headers of torch 2.12.0+cu130"
    assert plan.torch.sdk == str(store.folder / "torch-2.12.0+cu130/tree/torch")
    assert plan.torch.include[0].endswith("/tree/torch/include")
    assert plan.inputs == {"torch-2.12.0+cu130": "b" * 64, "torch.whl": "a" * 64}


def test_plan_needs_no_installed_torch_when_there_is_an_sdk(store: Store, tmp_path: Path) -> None:
    tree = read_tree(write_kernel(tmp_path / "kernel"))
    bare = toolchain(torch_problem="torch is not installed for python3")
    object.__setattr__(bare, "torch", None)
    goal = Goal.of(variant("torch213-cxx11-cpu-x86_64-linux"))
    assert plan_goal(goal, tree, bare, store=store).is_cross
    with pytest.raises(ToolchainError, match="torch is not installed for python3") as caught:
        plan_goal(Goal(backend=Backend.CPU), tree, bare, store=store)
    assert "or build for the headers of one, with --variant NAME" in caught.value.hint


def test_symbols_of_a_rocm_torch_are_not_looked_up_in_another(store: Store) -> None:
    names = ("_ZN3c103hip20getCurrentHIPStreamEa", "_ZN2at4cuda4fakeEv", "_ZN3c105ErrorC1Ev")
    linkage = Linkage(
        soname="",
        needed=(),
        runpath=(),
        rpath=(),
        undefined=tuple(Reference(name=it, version="", library="", is_weak=False) for it in names),
        defined=(),
    )
    torch = find("torch212-cxx11-rocm64-x86_64-linux", store)
    assert unseen_symbols(linkage, torch, Backend.ROCM) == set(names[:2])
    assert unseen_symbols(linkage, torch, Backend.CPU) == set()
    with_rocm = replace(torch, hip="7.1")
    assert unseen_symbols(linkage, with_rocm, Backend.ROCM) == set()


def test_manifest_refuses_the_torch_of_an_sdk_in_its_words(store: Store, tmp_path: Path) -> None:
    from tests.unit.builder.fakes import MANIFEST

    manifest = MANIFEST.replace("[torch]\n", '[torch]\nminver = "2.13"\n')
    tree = read_tree(write_kernel(tmp_path / "kernel", manifest))
    goal = Goal.of(variant("torch212-cxx11-cpu-x86_64-linux"))
    with pytest.raises(PlanError) as caught:
        plan_goal(goal, tree, toolchain(), store=store)
    assert caught.value.problem == (
        "the kernel wants torch from 2.13, but 2.12.0+cu130 is built against"
    )
