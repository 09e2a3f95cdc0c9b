"""Variants and backends in the shape of the original's: the values are those of its 0.17.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packaging.version import Version
from tests.unit.runtime.kernel_files import kernel_files, unload_kernels, write_files

import kernels
from kernelmill.runtime import api
from kernelmill.runtime.upstream import variants as upstream
from kernelmill.spec import variant as spec
from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Host
from kernelmill.spec.version import parse_release
from kernels._rust import KernelName
from kernels.backends import CANN, CPU, CUDA, TPU, XPU, Metal, Neuron, ROCm, parse_backend
from kernels.backends import Backend as BackendProtocol
from kernels.python_deps import validate_dependencies, validate_variant_dependencies
from kernels.variants import (
    Arch,
    ArchVariant,
    Noarch,
    NoarchVariant,
    Torch,
    TorchNoarch,
    TorchStableAbi,
    TvmFfi,
    VariantAccepted,
    VariantRejected,
    get_variants_local,
    parse_variant,
    resolve_variant,
    variants_trace_str,
)

if TYPE_CHECKING:
    from pathlib import Path

HOST = Host(
    cpu="x86_64",
    os="linux",
    backend=Backend.CPU,
    torch=parse_release("2.13.0", what="torch"),
    cxx11_abi=True,
    python=(3, 11),
)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(upstream, "probe_host", lambda: HOST)
    return HOST


@pytest.mark.parametrize(
    ("backend", "name", "variant_str", "representation"),
    [
        (CPU(), "cpu", "cpu", "CPU()"),
        (Metal(), "metal", "metal", "Metal()"),
        (Neuron(), "neuron", "neuron", "Neuron()"),
        (TPU(), "tpu", "tpu", "TPU()"),
        (CUDA(Version("12.8")), "cuda", "cu128", "CUDA(version=<Version('12.8')>)"),
        (ROCm(Version("7.1")), "rocm", "rocm71", "ROCm(version=<Version('7.1')>)"),
        (XPU(Version("2025.3")), "xpu", "xpu20253", "XPU(version=<Version('2025.3')>)"),
        (CANN(Version("8.1")), "cann", "cann81", "CANN(version=<Version('8.1')>)"),
    ],
    ids=str,
)
def test_backend_is_spelled_and_read_as_the_originals(
    backend: BackendProtocol, name: str, variant_str: str, representation: str
) -> None:
    assert (backend.name, backend.variant_str, repr(backend)) == (name, variant_str, representation)
    assert parse_backend(variant_str) == backend
    assert type(backend).parse(variant_str) == backend
    assert isinstance(backend, BackendProtocol)


@pytest.mark.parametrize("text", ["x", "npu", "cu", "cpu-x86_64", "cxx11-cpu", ""])
def test_backend_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"Unknown backend variant string: '{text}'"):
        parse_backend(text)


def test_backend_of_another_class_is_refused() -> None:
    with pytest.raises(ValueError, match="Invalid CUDA variant string: 'cpu'"):
        CUDA.parse("cpu")


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        (
            "torch29-cxx11-cu128-x86_64-linux",
            ArchVariant(
                Torch(Version("2.9"), cxx11_abi=True),
                Arch(CUDA(Version("12.8")), "x86_64", "linux"),
            ),
        ),
        (
            "torch210-rocm71-x86_64-windows",
            ArchVariant(
                Torch(Version("2.10"), cxx11_abi=None),
                Arch(ROCm(Version("7.1")), "x86_64", "windows"),
            ),
        ),
        (
            "torch-stable-abi29-cpu-aarch64-linux",
            ArchVariant(TorchStableAbi(Version("2.9")), Arch(CPU(), "aarch64", "linux")),
        ),
        (
            "tvm-ffi01-metal-aarch64-darwin",
            ArchVariant(TvmFfi(Version("0.1")), Arch(Metal(), "aarch64", "darwin")),
        ),
        ("torch-universal", NoarchVariant(TorchNoarch(), Noarch("universal"))),
    ],
    ids=str,
)
def test_variant_is_spelled_and_read_as_the_originals(
    text: str, variant: ArchVariant | NoarchVariant
) -> None:
    assert parse_variant(text) == variant
    assert variant.variant_str == str(variant) == text
    assert f"{variant.framework.variant_str}-{variant.arch.variant_str}" == text


def test_choice_and_its_trace_are_the_originals(host: Host) -> None:
    names = ("torch-universal", "torch-cuda", "torch-cpu", "torch-stable-abi219-cpu-x86_64-linux")
    chosen, trace = resolve_variant([parse_variant(name) for name in names], "cpu")
    assert chosen == parse_variant("torch-cpu")
    assert trace[0] == VariantAccepted(parse_variant("torch-cpu"))
    assert trace[-1] == VariantRejected(
        parse_variant("torch-cuda"),
        "backend (cuda) does not match system backend (cpu) and is not universal",
    )
    assert variants_trace_str(trace) == (
        "torch-cpu compatible, preferred ✅\n"
        "torch-universal compatible ✅\n"
        "torch-stable-abi219-cpu-x86_64-linux: Torch stable ABI version (2.19) is too new for "
        "environment Torch version (2.13.0)\n"
        "torch-cuda: backend (cuda) does not match system backend (cpu) and is not universal"
    )
    assert resolve_variant([])[0] is None
    with pytest.raises(ValueError, match="Invalid backend 'cuda', system supported backends: cpu"):
        resolve_variant([], "cuda")


def test_variants_of_a_folder_are_listed(host: Host, tmp_path: Path) -> None:
    for name in ("torch-cpu", "torch-universal", "notes"):
        (tmp_path / "build" / name).mkdir(parents=True)
    assert [str(it) for it in get_variants_local(tmp_path)] == ["torch-cpu", "torch-universal"]


def test_decisions_of_the_loader_come_in_the_originals_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits, fails = spec.parse_variant("torch-cpu"), spec.parse_variant("torch-cuda")
    found = [api.VariantAccepted(variant=fits), api.VariantRejected(variant=fails, reason="no")]
    monkeypatch.setattr(api, "get_kernel_variants", lambda *_, **__: found)
    assert kernels.get_kernel_variants("acme/toy", version=1) == [
        VariantAccepted(parse_variant("torch-cpu")),
        VariantRejected(parse_variant("torch-cuda"), "no"),
    ]
    assert kernels.VariantAccepted is VariantAccepted


def test_loaded_kernels_have_the_originals_metadata(tmp_path: Path) -> None:
    write_files(tmp_path / "build/torch-universal", kernel_files("toy-kernel", version=3))
    try:
        module = kernels.get_local_kernel(tmp_path)
        (loaded,) = kernels.get_loaded_kernels()
    finally:
        unload_kernels()
    assert loaded.module is module
    assert (loaded.metadata.name, loaded.metadata.version) == (KernelName("toy-kernel"), 3)
    assert loaded.metadata.backend.backend_type is kernels._rust.Backend.CPU
    assert loaded.repo_info is None
    assert isinstance(loaded, kernels.LoadedKernel)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("zzz", ValueError, "Kernel module `m` uses unsupported kernel dependency: zzz"),
        ("nki", ValueError, "Kernel module `m` uses unsupported kernel dependency: nki"),
        (
            "helion",
            ImportError,
            "Kernel module `m` requires Python dependency `helion`. "
            "Please install with: pip install helion",
        ),
    ],
)
def test_python_packages_are_refused_as_by_the_original(
    name: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        validate_dependencies("m", [name], CPU())
    assert str(caught.value).startswith(message)


def test_python_packages_of_a_build_are_those_of_its_metadata(tmp_path: Path) -> None:
    write_files(tmp_path, kernel_files(python_depends=("helion",)))
    with pytest.raises(ImportError, match="Kernel module `toy` requires Python dependency"):
        validate_variant_dependencies(tmp_path)
    validate_dependencies("m", [], CPU())
