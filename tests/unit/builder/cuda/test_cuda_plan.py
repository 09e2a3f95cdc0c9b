"""What a CUDA build is: version, capabilities, kernels, flags; and what stops it beforehand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.cuda.made_up import trial
from tests.unit.builder.fakes import FILES, program, toolchain, write_kernel

from kernelmill.builder.backends import cuda
from kernelmill.builder.cuda.archs import check_archs, default_archs
from kernelmill.builder.cuda.errors import CudaArchError, CudaToolchainError
from kernelmill.builder.cuda.libraries import Library
from kernelmill.builder.cuda.toolchain import require
from kernelmill.builder.errors import PlanError, SdkMissing
from kernelmill.builder.jobs import Capacity
from kernelmill.builder.pipeline import plan_goal
from kernelmill.builder.plan import plan_build
from kernelmill.builder.render import render_project
from kernelmill.builder.request import Goal
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain import compiler_versions
from kernelmill.builder.toolchain.tvm_ffi import TvmFfiInstall
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.cuda.toolchain import Trial
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.toolchain import Toolchain

MANIFEST = """\
[general]
name = "my-relu"
version = 3
edition = 5
license = "MIT"
backends = ["cuda"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.relu]
backend = "cuda"
depends = ["torch"]
cuda-capabilities = ["8.0", "9.0a"]
cuda-flags = ["-lineinfo"]
src = ["relu/relu.cu", "relu/relu.h"]

[kernel.newest]
backend = "cuda"
depends = ["torch"]
cuda-minver = "13.0"
cuda-capabilities = ["12.0+PTX"]
src = ["relu/newest.cu"]
"""
SOURCES = {**FILES, "relu/relu.cu": "// cuda\n", "relu/newest.cu": "// cuda\n"}
STABLE = MANIFEST.replace("[torch]\n", '[torch]\nstable-abi = "2.9"\n')


def cuda_torch(**changes: object) -> Toolchain:
    torch = toolchain("2.13.0+cu130").torch
    assert torch is not None
    found = (trial((13, 0)), trial((12, 6), "8.0 8.6 9.0"))
    complete = replace(toolchain(), cuda=found, torch=replace(torch, cuda="13.0"))
    return replace(complete, **changes)  # type: ignore[arg-type]  # replace checks names itself


def plan(
    tmp_path: Path,
    manifest: str = MANIFEST,
    tools: Toolchain | None = None,
    asked: tuple[int, int] | None = None,
) -> BuildPlan:
    tree = read_tree(write_kernel(tmp_path, manifest, SOURCES))
    return plan_build(tree, tools or cuda_torch(), cuda, asked_version=asked)


def goal(
    tmp_path: Path,
    manifest: str = STABLE,
    version: tuple[int, int] | None = None,
    **changes: object,
) -> BuildPlan:
    tree = read_tree(write_kernel(tmp_path, manifest, SOURCES))
    return plan_goal(Goal(backend=Backend.CUDA, version=version), tree, cuda_torch(**changes))


def test_each_kernel_has_its_own_capabilities_and_the_build_all_of_them(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert [(it.name, it.archs, it.device_flags) for it in made.kernels] == [
        ("relu", ("8.0", "9.0a"), ("-lineinfo",)),
        ("newest", ("12.0+PTX",), ()),
    ]
    assert made.archs == ("8.0", "9.0a", "12.0+PTX")
    assert str(made.variant) == "torch213-cxx11-cu130-x86_64-linux"
    assert made.runtime_soname == "libcudart.so.13"
    assert made.binding.defines == ("CUDA_KERNEL", "USE_CUDA")
    assert made.is_cross is False


def test_capabilities_are_ordered_as_numbers(tmp_path: Path) -> None:
    text = MANIFEST.replace('"8.0", "9.0a"', '"10.0", "9.0", "7.5", "12.0"')
    assert plan(tmp_path, text).archs == ("7.5", "9.0", "10.0", "12.0", "12.0+PTX")


@pytest.mark.parametrize(
    ("version", "first", "last"),
    [
        pytest.param((12, 6), "7.0", "9.0+PTX", id="before-12.8"),
        pytest.param((12, 8), "7.0", "12.0+PTX", id="12.8"),
        pytest.param((12, 9), "7.0", "12.0+PTX", id="12.9"),
        pytest.param((13, 2), "7.5", "12.1+PTX", id="13"),
    ],
)
def test_kernel_that_names_none_gets_the_matrixs_list(
    version: tuple[int, int], first: str, last: str
) -> None:
    archs = default_archs(version)
    assert (archs[0], archs[-1]) == (first, last)


def test_kernel_for_a_newer_cuda_is_left_out(tmp_path: Path) -> None:
    made = plan(tmp_path, asked=(12, 6))
    assert [it.name for it in made.kernels] == ["relu"]
    assert str(made.variant) == "torch213-cxx11-cu126-x86_64-linux"
    assert made.runtime_soname == "libcudart.so.12"


def test_build_without_any_kernel_is_an_error(tmp_path: Path) -> None:
    text = MANIFEST.replace(
        'depends = ["torch"]\ncuda-cap', 'depends = ["torch"]\ncuda-minver = "12.8"\ncuda-cap', 1
    )
    with pytest.raises(
        PlanError, match=r"none of the kernel's sources is for CUDA 12\.6"
    ) as caught:
        plan(tmp_path, text, asked=(12, 6))
    assert caught.value.where == "build.toml:14 kernel.relu.cuda-minver"
    assert caught.value.hint.startswith("build for CUDA 12.8 or later")


@pytest.mark.parametrize(
    ("bound", "asked", "text"),
    [
        pytest.param(
            'minver = "13.0"', (12, 6), "the kernel wants CUDA from 13.0, not 12.6", id="min"
        ),
        pytest.param(
            'maxver = "12.9"', (13, 0), "the kernel wants CUDA up to 12.9, not 13.0", id="max"
        ),
    ],
)
def test_manifests_range_of_cuda_holds(
    tmp_path: Path, bound: str, asked: tuple[int, int], text: str
) -> None:
    manifest = MANIFEST.replace("[torch]\n", f"[general.cuda]\n{bound}\n\n[torch]\n")
    with pytest.raises(PlanError, match=text):
        plan(tmp_path, manifest, asked=asked)


def test_build_is_for_the_cuda_of_the_installed_torch(tmp_path: Path) -> None:
    tools = cuda_torch(cuda=(trial((13, 2)), trial((13, 0))))
    assert plan(tmp_path, tools=tools).variant.compute.version == (13, 0)


def test_build_is_for_the_first_toolkit_where_torch_has_no_cuda(tmp_path: Path) -> None:
    tools = toolchain(cuda=(trial((13, 2)), trial((13, 0))))
    made = plan(tmp_path, STABLE, tools)
    assert (made.variant.compute.version, made.is_cross) == ((13, 2), True)


def test_project_can_be_made_where_there_is_no_toolkit(tmp_path: Path) -> None:
    made = plan(tmp_path, tools=toolchain())
    assert str(made.variant) == "torch213-cxx11-cu130-x86_64-linux"
    project = render_project([made]).as_text()
    assert 'set(KERNEL_CUDA_VERSION "13.0")' in project["CMakeLists.txt"]
    assert 'ARCHS "8.0" "9.0a"' in project["CMakeLists.txt"]
    assert {"cmake/cuda.cmake", "cmake/cuda_facts.py"} <= set(project)


def test_missing_toolkit_is_named_with_its_sdk(tmp_path: Path) -> None:
    with pytest.raises(
        SdkMissing, match=r"no CUDA 13\.2 toolkit: those found are 13\.0, 12\.6"
    ) as it:
        goal(tmp_path, version=(13, 2))
    assert it.value.name == "cuda-13.2"


def test_d10_capability_that_the_toolkit_does_not_know_is_an_error_not_dropped(
    tmp_path: Path,
) -> None:
    text = STABLE.replace('"8.0", "9.0a"', '"8.0", "10.0a"')
    with pytest.raises(CudaArchError) as caught:
        goal(tmp_path, text, version=(12, 6))
    assert caught.value.problem == (
        "'10.0a' is not an architecture that CUDA 12.6 (nvcc 12.6.88) can target"
    )
    assert caught.value.where == "build.toml:15 kernel.relu.cuda-capabilities"
    assert caught.value.hint == "build for CUDA 13.0, 13.2, or give the kernel cuda-minver = '13.0'"


@pytest.mark.parametrize(
    ("arch", "release", "is_possible"),
    [
        pytest.param("9.0a", (13, 0), True, id="specific"),
        pytest.param("8.0a", (13, 0), False, id="no-such-specific"),
        pytest.param("10.0f", (13, 0), True, id="family"),
        pytest.param("9.0f", (13, 0), False, id="no-such-family"),
        pytest.param("7.0", (13, 0), False, id="dropped"),
        pytest.param("12.0+PTX", (13, 0), True, id="ptx"),
        pytest.param("9.1", (13, 0), False, id="no-such-device"),
        pytest.param("9.0a", (11, 8), False, id="older-toolkit"),
    ],
)
def test_capabilities_that_a_compiler_can_target(
    arch: str, release: tuple[int, int], is_possible: bool
) -> None:
    found = require([trial(release)], release)
    faults = check_archs([arch], found, where="here")
    assert [it.where for it in faults] == ([] if is_possible else ["here"])


def test_unknown_capability_is_answered_with_those_that_there_are() -> None:
    (fault,) = check_archs(["9.1"], require([trial()], (13, 0)), where="")
    assert fault.hint == (
        "one of 7.5 8.0 8.6 8.7 8.9 9.0 10.0 11.0 12.0 12.1, with a or f where the device has it"
    )


def test_host_compiler_that_is_too_new_stops_the_build_before_it_starts(tmp_path: Path) -> None:
    cxx = program("C++ compiler", "/usr/bin/g++-16")
    newest = replace(cxx.candidates[0], version="16.1.0")
    with pytest.raises(CudaToolchainError, match="takes gcc up to 15") as caught:
        goal(tmp_path, cxx=replace(cxx, candidates=(newest,)))
    assert caught.value.hint == "set CXX to a compiler that it takes"


def test_headers_of_a_torch_without_cuda_are_refused_for_its_whole_interface(
    tmp_path: Path,
) -> None:
    cpu_torch = toolchain().torch
    with pytest.raises(PlanError, match=r"torch 2\.13\.0\+cpu is a build without CUDA"):
        goal(tmp_path, MANIFEST, torch=cpu_torch)
    assert str(goal(tmp_path, STABLE, torch=cpu_torch).variant) == (
        "torch-stable-abi29-cu130-x86_64-linux"
    )


def test_kernel_of_tvm_ffi_needs_no_torch_for_cuda(tmp_path: Path) -> None:
    text = MANIFEST.replace("[torch]", "[tvm-ffi]").replace("torch-ext", "tvm-ffi-ext")
    for path in ("binding.cpp", "my_relu/__init__.py"):
        place = tmp_path / "tvm-ffi-ext" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    found = TvmFfiInstall(version=(0, 1), include="/tvm/include", library="/tvm/libtvm_ffi.so")
    made = goal(tmp_path, text, torch=toolchain().torch, tvm_ffi=found)
    assert str(made.variant) == "tvm-ffi01-cu130-x86_64-linux"


def test_record_names_compiler_and_toolkit(tmp_path: Path) -> None:
    made = goal(tmp_path)
    tools = cuda_torch()
    assert cuda.inputs(made, tools) == {"cuda-13.0.88": "ab" * 32}
    assert compiler_versions(tools, Backend.CUDA, (), (13, 0)) == {
        "c++": "g++ 1.2",
        "cuda": "nvcc 13.0.88",
    }


def with_cutlass() -> tuple[Trial, ...]:
    library = Library(include=("/cutlass/include",), inputs={"cutlass-3.8.0.0": "cd" * 32})
    found = trial()
    assert found.toolkit is not None
    return (replace(found, toolkit=replace(found.toolkit, libraries={"cutlass_3_8": library})),)


def test_library_that_a_kernel_depends_on_is_searched_and_recorded(tmp_path: Path) -> None:
    text = STABLE.replace('depends = ["torch"]', 'depends = ["torch", "cutlass_3_8"]', 1)
    made = goal(tmp_path, text, cuda=with_cutlass())
    tools = cuda_torch(cuda=with_cutlass())
    assert made.depends == ("cutlass_3_8",)
    assert cuda.tool_settings(made, tools)["KERNEL_CUDA_LIBRARIES"] == "/cutlass/include"
    assert "cutlass-3.8.0.0" in cuda.inputs(made, tools)


def test_library_that_is_not_here_is_named_with_its_sdk(tmp_path: Path) -> None:
    text = STABLE.replace('depends = ["torch"]', 'depends = ["torch", "cutlass_3_6"]', 1)
    with pytest.raises(SdkMissing, match=r"the SDK cutlass-3\.6 is not here") as caught:
        goal(tmp_path, text, cuda=with_cutlass())
    assert caught.value.hint == "kernel-builder sdk fetch cutlass-3.6"


def test_library_that_no_sdk_has_is_told_where_to_go(tmp_path: Path) -> None:
    text = STABLE.replace('depends = ["torch"]', 'depends = ["torch", "cutlass_4_0"]', 1)
    with pytest.raises(PlanError, match=r"no SDK has the headers of CUTLASS 4\.0") as caught:
        goal(tmp_path, text)
    assert caught.value.where == "build.toml:14 kernel.relu.depends"
    assert caught.value.hint == "put them into the kernel, and name their folder in include"


def test_library_of_a_kernel_that_is_left_out_is_not_asked_for(tmp_path: Path) -> None:
    newest = 'depends = ["torch"]\ncuda-minver'
    text = STABLE.replace(newest, newest.replace('"]', '", "cutlass_4_0"]'))
    made = goal(tmp_path, text, version=(12, 6))
    assert (len(made.kernels), made.depends) == (1, ())


def test_tools_are_those_of_the_variants_cuda(tmp_path: Path) -> None:
    made = goal(tmp_path, version=(12, 6), manifest=STABLE)
    assert cuda.tool_settings(made, cuda_torch()) == {
        "KERNEL_CUDA_ROOT": "/cuda-12.6",
        "KERNEL_CUDA_COMPILER": "/cuda-12.6/bin/nvcc",
        "KERNEL_CUDA_INCLUDE": "/cuda-12.6/include",
        "KERNEL_CUDA_LIBRARIES": "",
        "KERNEL_CUDA_RUNTIME": "/cuda-12.6/lib/libcudart.so.12",
        "KERNEL_CUDA_THREADS": "4",
    }


def test_c11_architectures_of_all_sources_share_the_jobs(tmp_path: Path) -> None:
    """Each source may run several compilers: together they are no more than the jobs."""
    capacity = Capacity(cores=16, memory_bytes=10 * 1024**3)  # memory for five
    made = goal(tmp_path, capacity=capacity)
    assert (made.jobs, made.device_source_count) == (5, 2)
    assert cuda.tool_settings(made, cuda_torch())["KERNEL_CUDA_THREADS"] == "2"
