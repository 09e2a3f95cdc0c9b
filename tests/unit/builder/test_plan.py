from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import FILES, MANIFEST, hip_trial, program, toolchain, write_kernel

from kernelmill.builder.backends import rules_for
from kernelmill.builder.errors import PlanError, ToolchainError
from kernelmill.builder.hip.errors import HipToolchainError, UnsupportedArchError
from kernelmill.builder.hip.toolchain import Place, Trial
from kernelmill.builder.plan import plan_build
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.toolchain import Toolchain

CPU, ROCM = Backend.CPU, Backend.ROCM


def plan(
    root: Path,
    backend: Backend,
    manifest: str = MANIFEST,
    tools: Toolchain | None = None,
    rocm: tuple[int, int] | None = None,
) -> BuildPlan:
    tree = read_tree(write_kernel(root, manifest))
    return plan_build(tree, tools or toolchain(), rules_for(backend), asked_version=rocm)


def test_plan_names_variant_and_module_for_the_cpu(tmp_path: Path) -> None:
    it = plan(tmp_path, CPU)
    assert str(it.variant) == "torch213-cxx11-cpu-x86_64-linux"
    assert it.ops_name == f"_my_relu_cpu_{it.unique_id}"
    assert len(it.unique_id) == 10
    assert it.kernels[0].sources == ("relu/relu.cpp",)
    assert (it.archs, it.runtime_soname, it.is_cross) == (None, "", False)


@pytest.mark.parametrize(
    ("rocm", "variant", "soname"),
    [
        pytest.param(None, "torch213-cxx11-rocm71-x86_64-linux", "libamdhip64.so.7", id="default"),
        pytest.param((7, 2), "torch213-cxx11-rocm72-x86_64-linux", "libamdhip64.so.7", id="7.2"),
        pytest.param((6, 4), "torch213-cxx11-rocm64-x86_64-linux", "libamdhip64.so.6", id="6.4"),
    ],
)
def test_plan_names_variant_and_runtime_for_rocm(
    tmp_path: Path, rocm: tuple[int, int] | None, variant: str, soname: str
) -> None:
    it = plan(tmp_path, ROCM, rocm=rocm)
    assert (str(it.variant), it.runtime_soname) == (variant, soname)
    assert it.kernels[0].device_sources == ("relu/relu.hip",)
    assert it.kernels[0].sources == ()
    assert it.archs == ("gfx942",)
    assert it.is_cross


def test_plan_refuses_a_rocm_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"unknown ROCm 5\.7") as caught:
        plan(tmp_path, ROCM, rocm=(5, 7))
    assert caught.value.hint == "known: 6.x and 7.x"


def test_unique_id_is_equal_for_equal_sources_elsewhere(tmp_path: Path) -> None:
    first, second = plan(tmp_path / "a", CPU), plan(tmp_path / "b", CPU)
    assert first.unique_id == second.unique_id


@pytest.mark.parametrize("path", ["torch-ext/binding.cpp", "relu/relu.cpp", "relu/relu.h"])
def test_unique_id_changes_when_a_source_changes(tmp_path: Path, path: str) -> None:
    before = plan(tmp_path / "a", CPU)
    root = write_kernel(tmp_path / "b", files=FILES | {path: "// other\n"})
    after = plan_build(read_tree(root), toolchain(), rules_for(CPU))
    assert before.unique_id != after.unique_id


def test_unique_id_stays_when_a_source_of_another_backend_changes(tmp_path: Path) -> None:
    before = plan(tmp_path / "a", CPU)
    root = write_kernel(tmp_path / "b", files=FILES | {"relu/relu.hip": "// other\n"})
    assert plan_build(read_tree(root), toolchain(), rules_for(CPU)).unique_id == before.unique_id


def test_unique_id_changes_with_torch_backend_and_manifest(tmp_path: Path) -> None:
    ids = {
        plan(tmp_path, CPU).unique_id,
        plan(tmp_path, ROCM).unique_id,
        plan(tmp_path, ROCM, rocm=(6, 4)).unique_id,
        plan(tmp_path, CPU, tools=toolchain("2.12.1")).unique_id,
        plan(tmp_path, CPU, manifest=MANIFEST + "# a word\n").unique_id,
    }
    assert len(ids) == 5


def test_each_kernel_keeps_its_own_archs_and_the_plan_has_all(tmp_path: Path) -> None:
    manifest = MANIFEST + (
        '\n[kernel.other]\nbackend = "rocm"\ndepends = ["torch"]\n'
        'rocm-archs = ["gfx90a"]\nsrc = ["relu/other.hip"]\n'
    )
    root = write_kernel(tmp_path, manifest, FILES | {"relu/other.hip": ""})
    it = plan_build(read_tree(root), toolchain(), rules_for(ROCM))
    assert [kernel.archs for kernel in it.kernels] == [("gfx942",), ("gfx90a",)]
    assert it.archs == ("gfx90a", "gfx942")


def test_archs_come_from_the_environment_when_the_manifest_has_none(tmp_path: Path) -> None:
    manifest = MANIFEST.replace('rocm-archs = ["gfx942"]\n', "")
    it = plan(tmp_path, ROCM, manifest, toolchain(default_archs=("gfx90a",)))
    assert it.archs == ("gfx90a",)


@pytest.mark.parametrize(
    ("archs", "error", "text"),
    [
        pytest.param("", PlanError, "no device architecture is named", id="none"),
        pytest.param(
            'rocm-archs = ["gfx942", "gfx9999"]\n',
            UnsupportedArchError,
            "'gfx9999' is not an architecture that clang version 22.0.0 can target",
            id="one-is-unknown",
        ),
    ],
)
def test_plan_refuses_archs_that_cannot_be_built(
    tmp_path: Path, archs: str, error: type[Exception], text: str
) -> None:
    manifest = MANIFEST.replace('rocm-archs = ["gfx942"]\n', archs)
    with pytest.raises(error, match=text) as caught:
        plan(tmp_path, ROCM, manifest)
    assert "build.toml:" in str(caught.value)
    assert "kernel.relu_rocm.rocm-archs" in str(caught.value)


def test_plan_refuses_a_backend_without_kernels(tmp_path: Path) -> None:
    manifest = MANIFEST.partition("\n[kernel.relu_rocm]")[0]
    with pytest.raises(PlanError, match=r"no \[kernel\.NAME\] has backend = 'rocm'") as caught:
        plan(tmp_path, ROCM, manifest)
    assert caught.value.where == "build.toml:6 general.backends"


def test_plan_refuses_a_backend_that_the_kernel_does_not_list(tmp_path: Path) -> None:
    manifest = MANIFEST.partition("\n[kernel.relu_rocm]")[0].replace(', "rocm"', "")
    with pytest.raises(PlanError, match="the kernel is not for rocm") as caught:
        plan(tmp_path, ROCM, manifest)
    assert caught.value.hint == "build it for cpu, or add rocm to the list"


@pytest.mark.parametrize(
    ("bound", "torch", "text"),
    [
        pytest.param('minver = "2.14"', "2.13.0+cpu", "wants torch from 2.14", id="too-old"),
        pytest.param('maxver = "2.12"', "2.13.0+cpu", "wants torch up to 2.12", id="too-new"),
        pytest.param('stable-abi = "2.14"', "2.13.0", "wants torch from 2.14", id="stable-abi"),
    ],
)
def test_plan_refuses_a_torch_that_does_not_fit(
    tmp_path: Path, bound: str, torch: str, text: str
) -> None:
    manifest = MANIFEST.replace("[torch]\n", f"[torch]\n{bound}\n")
    with pytest.raises(PlanError, match=text) as caught:
        plan(tmp_path, CPU, manifest, toolchain(torch))
    assert torch in caught.value.problem
    assert caught.value.where == f"build.toml:9 torch.{bound.partition(' ')[0]}"


def test_plan_takes_a_nightly_torch_for_its_series(tmp_path: Path) -> None:
    it = plan(tmp_path, CPU, tools=toolchain("2.14.0.dev20260701+cpu"))
    assert str(it.variant) == "torch214-cxx11-cpu-x86_64-linux"


def test_stable_abi_names_the_variant_and_sets_the_target(tmp_path: Path) -> None:
    manifest = MANIFEST.replace("[torch]\n", '[torch]\nstable-abi = "2.9"\n')
    it = plan(tmp_path, CPU, manifest)
    assert str(it.variant) == "torch-stable-abi29-cpu-x86_64-linux"
    assert "TORCH_TARGET_VERSION=0x0209000000000000" in it.binding.defines


def test_plan_refuses_a_source_that_no_compiler_takes(tmp_path: Path) -> None:
    manifest = MANIFEST.replace("relu/relu.cpp", "relu/relu.f90")
    root = write_kernel(tmp_path, manifest, FILES | {"relu/relu.f90": ""})
    with pytest.raises(PlanError, match=r"cannot compile 'relu/relu\.f90' for cpu") as caught:
        plan_build(read_tree(root), toolchain(), rules_for(CPU))
    assert caught.value.where == "build.toml:14 kernel.relu_cpu.src[0]"


def test_plan_needs_a_cxx_compiler(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"no usable C\+\+ compiler") as caught:
        plan(tmp_path, CPU, tools=toolchain(cxx=program("C++ compiler")))
    assert caught.value.exit_code == 3
    assert "set CXX" in caught.value.hint


def test_plan_needs_a_hip_compiler_for_rocm_only(tmp_path: Path) -> None:
    place = Place(label="Python package ziglang", kind="zig", path=None)
    tools = toolchain(hip=(Trial(place=place, toolchain=None, objection="not found"),))
    assert plan(tmp_path, CPU, tools=tools).backend is CPU
    with pytest.raises(HipToolchainError, match="Python package ziglang: not found"):
        plan(tmp_path, ROCM, tools=tools)


def test_plan_uses_the_first_hip_compiler_that_works(tmp_path: Path) -> None:
    tools = toolchain(hip=(hip_trial("gfx942"), hip_trial("gfx1100")))
    assert plan(tmp_path, ROCM, tools=tools).archs == ("gfx942",)


@pytest.mark.parametrize(
    ("backend", "tool", "way_out"),
    [
        (Backend.XPU, "it takes icpx of Intel's oneAPI, in", "create-pyproject"),
        (Backend.METAL, "it takes Xcode's metal compiler, where `xcrun", "create-pyproject"),
        (Backend.NEURON, "it takes neuronx-cc of AWS's Neuron SDK", "[torch-noarch]"),
        (Backend.TPU, "it takes the Python package libtpu", "[torch-noarch]"),
        (Backend.CANN, "it takes bisheng of Huawei's CANN", "[torch-noarch]"),
    ],
    ids=str,
)
def test_rules_for_names_the_tool_of_a_backend_that_is_built_elsewhere(
    backend: Backend, tool: str, way_out: str
) -> None:
    with pytest.raises(PlanError, match=f"cannot build for {backend}: {re.escape(tool)}") as caught:
        rules_for(backend)
    assert way_out in caught.value.hint
    assert "\n" not in caught.value.problem
