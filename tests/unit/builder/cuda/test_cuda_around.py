"""What the rest of the builder does with CUDA: what is left out, tested, linked and looked up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.cuda.made_up import trial
from tests.unit.builder.fakes import FILES, toolchain, write_kernel
from tests.unit.builder.trial.fakes import CPU, plan, site

from kernelmill.binary import elf
from kernelmill.binary.symbols import Linkage, Reference, read_exports
from kernelmill.builder.check.linkage import check_linkage
from kernelmill.builder.cli.building import _possible
from kernelmill.builder.errors import SdkMissing, ToolchainError
from kernelmill.builder.job import Site
from kernelmill.builder.pipeline import unseen_symbols
from kernelmill.builder.request import Goal
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sdk.stub import StubSymbol, write_stub
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain.gpu import has_nvidia_gpu
from kernelmill.builder.trial.plan import Runner
from kernelmill.builder.trial.plan import Site as TrialSite
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import KernelError

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = """\
[general]
name = "my-relu"
version = 3
edition = 5
license = "MIT"
backends = ["cpu", "cuda"]

[torch]
stable-abi = "2.9"
src = ["torch-ext/binding.cpp"]

[kernel.relu_cpu]
backend = "cpu"
depends = ["torch"]
src = ["relu/relu.cpp"]

[kernel.relu_cuda]
backend = "cuda"
depends = ["torch"]
src = ["relu/relu.cu"]
"""
BOTH = (Goal(backend=Backend.CPU), Goal(backend=Backend.CUDA))
CUDA = CPU.replace("-cpu-", "-cu130-")


def place(tmp_path: Path, manifest: str = MANIFEST, **changes: object) -> Site:
    files = {**FILES, "relu/relu.cu": "// cuda\n"}
    tools = replace(toolchain(), **changes)  # type: ignore[arg-type]  # replace checks names itself
    return Site(
        tree=read_tree(write_kernel(tmp_path / "kernel", manifest, files)),
        toolchain=tools,
        store=Store(tmp_path / "store"),
        abi_stubs=None,
    )


def test_backend_without_its_tools_is_left_out_when_nobody_asked_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _possible(BOTH, place(tmp_path)) == BOTH[:1]
    assert capsys.readouterr().err == (
        "leaving out cuda: no CUDA 13.0 toolkit: none was found; "
        "kernel-builder sdk fetch cuda-13.0; or set CUDA_HOME\n"
    )
    assert _possible(BOTH, place(tmp_path, cuda=(trial(),))) == BOTH


def test_missing_tools_are_an_error_when_nothing_else_is_left(tmp_path: Path) -> None:
    with pytest.raises(SdkMissing, match=r"no CUDA 13\.0 toolkit"):
        _possible(BOTH[1:], place(tmp_path))


def test_cuda_is_built_for_the_headers_of_an_sdk_where_torch_has_no_cuda(tmp_path: Path) -> None:
    full = MANIFEST.replace('stable-abi = "2.9"\n', "")
    here = place(tmp_path, full, cuda=(trial(),))
    with pytest.raises(SdkMissing) as caught:
        here.plan(BOTH[1])
    assert caught.value.name == "torch-2.13.0+cu130"


def with_gpu(cuda: tuple[int, int] | None) -> TrialSite:
    return replace(site(), has_nvidia_gpu=True, cuda=cuda)


def test_cuda_kernels_are_tested_on_the_gpu_that_is_here() -> None:
    planned = plan([CUDA], at=with_gpu((13, 0)))
    assert [(str(it.variant), it.runner) for it in planned.trials] == [(CUDA, Runner.GPU)]


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        pytest.param(site(), "no NVIDIA GPU here", id="no-gpu"),
        pytest.param(with_gpu(None), "the installed PyTorch is not for CUDA", id="cpu-torch"),
        pytest.param(
            with_gpu((12, 6)), "nothing that is built for cuda fits here", id="other-cuda"
        ),
    ],
)
def test_cuda_kernels_are_not_tested_elsewhere(where: TrialSite, problem: str) -> None:
    with pytest.raises(KernelError, match=problem):
        plan([CUDA], at=where)


def test_cuda_kernels_are_left_out_of_an_emulated_test() -> None:
    rocm = CPU.replace("-cpu-", "-rocm71-")
    planned = plan([CUDA, rocm], emulate=True)
    assert [it.runner for it in planned.trials] == [Runner.EMULATOR]
    (omitted,) = planned.omitted
    assert omitted == "leaving out cuda: CUDA kernels cannot be emulated; leave out --emulate"
    with pytest.raises(ToolchainError, match="CUDA kernels cannot be emulated"):
        plan([CUDA, rocm], emulate=True, backends=["cuda", "rocm"])


def test_gpu_is_one_that_the_driver_offers(tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").touch()
    assert not has_nvidia_gpu(tmp_path)
    (tmp_path / "nvidia0").touch()
    assert has_nvidia_gpu(tmp_path)


def linkage(*needed: str, undefined: tuple[str, ...] = ()) -> Linkage:
    return Linkage(
        soname="",
        needed=(*needed, "libstdc++.so.6"),
        runpath=(),
        rpath=(),
        undefined=tuple(
            Reference(name=it, version="", library="", is_weak=False) for it in undefined
        ),
        defined=(),
    )


@pytest.mark.parametrize(
    ("needed", "problems"),
    [
        pytest.param(["libcudart.so.13"], [], id="right"),
        pytest.param([], [], id="static"),
        pytest.param(
            ["libcudart.so.12"],
            ["the extension needs libcudart.so.12, want libcudart.so.13"],
            id="other-major",
        ),
        pytest.param(
            ["libcudart.so.13", "libamdhip64.so.7"],
            ["the extension needs libamdhip64.so.7, want libcudart.so.13"],
            id="two-runtimes",
        ),
    ],
)
def test_runtime_is_that_of_the_variants_cuda(needed: list[str], problems: list[str]) -> None:
    found = check_linkage(linkage(*needed), module="", runtime_soname="libcudart.so.13")
    assert [it.problem for it in found] == problems


def test_stable_streams_are_not_looked_up_in_a_torch_without_cuda() -> None:
    names = ("aoti_torch_get_current_cuda_stream", "aoti_torch_get_sizes", "cudaFree")
    torch = toolchain().torch
    assert torch is not None
    found = linkage(undefined=names)
    assert unseen_symbols(found, torch, Backend.CUDA) == {names[0]}
    assert unseen_symbols(found, replace(torch, cuda="13.0"), Backend.CUDA) == set()


def test_stub_may_have_a_version_of_its_own_name() -> None:
    """CUDA's runtime has; linkers read its definitions one after another."""
    name = "libcudart.so.13"
    stub = elf.parse(write_stub(name, [StubSymbol("a", "OLD"), StubSymbol("cudaFree", name)]))
    assert {(it.name, it.version) for it in read_exports(stub)} == {
        ("a", "OLD"),
        ("cudaFree", name),
    }
    section = stub.section(".gnu.version_d")
    assert section is not None
    following = [stub.content(section)[at + 16 : at + 20] for at in (0, 28, 56)]
    assert [int.from_bytes(it, "little") for it in following] == [28, 28, 0]
