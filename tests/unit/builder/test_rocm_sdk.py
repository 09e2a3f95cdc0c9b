"""C1, M5: which ROCm a build is for, and whether an SDK or our own headers make it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import FILES, MANIFEST, hip_trial, toolchain, write_kernel

from kernelmill.builder.backends import cpu, rocm
from kernelmill.builder.compile import Workspace
from kernelmill.builder.hip.toolchain import HipToolchain, Place, Trial
from kernelmill.builder.plan import plan_build
from kernelmill.builder.sources import read_tree

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.toolchain import Toolchain


def sdk_trial(*archs: str, version: tuple[int, int] | None = (7, 2)) -> Trial:
    place = Place(label="ROCM_PATH", kind="rocm", path="/opt/rocm")
    found = HipToolchain(
        kind="rocm",
        command=("/opt/rocm/lib/llvm/bin/clang++",),
        version_text="AMD clang version 22.0.0",
        rocm_root="/opt/rocm",
        rocm_version=version,
        archs=archs,
    )
    return Trial(place=place, toolchain=found, objection="")


def with_sdk(version: tuple[int, int] | None = (7, 2)) -> Toolchain:
    return toolchain(hip=(sdk_trial("gfx942", version=version), hip_trial("gfx942")))


def plan(tmp_path: Path, tools: Toolchain, asked: tuple[int, int] | None = None) -> BuildPlan:
    return plan_build(read_tree(write_kernel(tmp_path)), tools, rocm, asked_version=asked)


def test_build_is_for_the_installed_sdk_and_made_with_it(tmp_path: Path) -> None:
    made = plan(tmp_path, with_sdk())
    assert str(made.variant) == "torch213-cxx11-rocm72-x86_64-linux"
    assert made.is_cross is False
    assert rocm.tool_settings(made, with_sdk()) == {
        "HIP_CROSS_COMPILER": "/opt/rocm/lib/llvm/bin/clang++",
        "HIP_CROSS_ROCM_ROOT": "/opt/rocm",
    }


def test_build_for_another_rocm_takes_only_the_compiler_of_the_sdk(tmp_path: Path) -> None:
    made = plan(tmp_path, with_sdk(), asked=(6, 4))
    assert (made.is_cross, made.runtime_soname) == (True, "libamdhip64.so.6")
    assert rocm.tool_settings(made, with_sdk()) == {
        "HIP_CROSS_COMPILER": "/opt/rocm/lib/llvm/bin/clang++"
    }


def test_build_with_an_incomplete_sdk_is_a_cross_build(tmp_path: Path) -> None:
    made = plan(tmp_path, with_sdk(version=None))
    assert made.is_cross
    assert str(made.variant) == "torch213-cxx11-rocm71-x86_64-linux"


def test_bare_clang_cross_compiles(tmp_path: Path) -> None:
    assert plan(tmp_path, toolchain()).is_cross


@pytest.mark.parametrize(
    ("version", "text"),
    [
        pytest.param((7, 2), "ROCm 7.2, with its headers and runtime", id="whole"),
        pytest.param(None, "cross-compiles: the SDK is not complete", id="incomplete"),
    ],
)
def test_summary_says_what_of_an_sdk_is_used(version: tuple[int, int] | None, text: str) -> None:
    (trial,) = (sdk_trial("gfx942", version=version),)
    assert trial.toolchain is not None
    assert trial.toolchain.summary == f"AMD clang version 22.0.0; {text}"


def test_cuda_sources_of_a_rocm_kernel_are_translated_with_all_that_share_headers(
    tmp_path: Path,
) -> None:
    manifest = MANIFEST.replace("relu/relu.hip", "relu/relu.cu")
    files = {**FILES, "relu/relu.cu": "// cuda\n"}
    tree = read_tree(write_kernel(tmp_path, manifest, files))
    made = plan_build(tree, toolchain(), rocm)
    assert made.translated == ("torch-ext/binding.cpp", "relu/relu.cu", "relu/relu.h")
    assert plan_build(tree, toolchain(), cpu).translated == ()


def test_hip_sources_are_not_translated(tmp_path: Path) -> None:
    assert plan(tmp_path, toolchain()).translated == ()


def test_c8_each_kernel_has_its_own_architectures(tmp_path: Path) -> None:
    manifest = MANIFEST + (
        '[kernel.other]\nbackend = "rocm"\ndepends = ["torch"]\nrocm-archs = ["gfx90a"]\n'
        'src = ["relu/other.hip"]\n'
    )
    files = {**FILES, "relu/other.hip": "// other\n"}
    made = plan_build(read_tree(write_kernel(tmp_path, manifest, files)), toolchain(), rocm)
    assert [it.archs for it in made.kernels] == [("gfx942",), ("gfx90a",)]
    assert made.archs == ("gfx90a", "gfx942")


def test_m5_the_manifest_comes_before_the_environment(tmp_path: Path) -> None:
    tools = replace(toolchain(), default_archs=("gfx90a",))
    assert plan(tmp_path / "named", tools).archs == ("gfx942",)
    manifest = MANIFEST.replace('rocm-archs = ["gfx942"]\n', "")
    tree = read_tree(write_kernel(tmp_path / "unnamed", manifest))
    assert plan_build(tree, tools, rocm).archs == ("gfx90a",)


def test_c6_a_copy_counts_as_its_original(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path, folder=tmp_path / ".kernelmill/variant")
    copy = workspace.binary / "hipified/common/util.cuh"
    assert workspace.original(copy) == tmp_path / "common/util.cuh"
    assert workspace.original(tmp_path / "a.h") == tmp_path / "a.h"
