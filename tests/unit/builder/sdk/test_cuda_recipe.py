"""CUDA toolkits made from tiny wheels."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.sdk.wheels import write_wheel

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_exports, read_soname
from kernelmill.builder.matrix import load_matrix
from kernelmill.builder.sdk.fetch import download_command
from kernelmill.builder.sdk.making import make_sdk
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.builder.sdk.recipes import Wanted, cuda
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sdk.stub import StubSymbol, write_stub
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kernelmill.builder.sdk.store import Sdk


@pytest.fixture(autouse=True)
def unpinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take made-up wheels: nothing is known about any file."""
    monkeypatch.setattr(cuda, "known_files", lambda *_: {})


def make(folder: Path, name: str) -> Sdk:
    kind, _, version = name.rpartition("-")
    return make_sdk(
        kind,
        version,
        Store(folder / "store"),
        platform="x86_64-linux",
        cxx="g++",
        offline=folder,
        note=lambda _: None,
    )


def write(folder: Path, package: str, files: Mapping[str, str | bytes], *, of: str) -> None:
    """Write the wheel of ``package`` that the SDK ``of`` wants."""
    kind, _, release = of.rpartition("-")
    (version,) = [it.version for it in known_inputs()[kind][release] if it.name == package]
    name = package.replace("-", "_")
    own = {f"{name}-{version}.dist-info/licenses/License.txt": f"of {package}\n"}
    write_wheel(folder / f"{name}-{version}-py3-none-manylinux2014_x86_64.whl", {**files, **own})


def runtime(name: str) -> bytes:
    # NVIDIA's has a version that is called as the library itself.
    return write_stub(name, [StubSymbol("cudaFree", name), StubSymbol("__cudaGetKernel", name)])


def write_cuda_13(folder: Path) -> None:
    top, name = "nvidia/cu13", "libcudart.so.13"
    wheels: dict[str, dict[str, str | bytes]] = {
        "nvidia-cuda-nvcc": {
            f"{top}/bin/nvcc": "nvcc",
            f"{top}/bin/nvcc.profile": "TOP = ..",
            f"{top}/bin/fatbinary": "fatbinary",
            f"{top}/include/fatbinary_section.h": "",
        },
        "nvidia-nvvm": {
            f"{top}/nvvm/bin/cicc": "cicc",
            f"{top}/nvvm/libdevice/libdevice.10.bc": "bitcode",
            f"{top}/lib/libnvvm.so.4": "big, and not wanted",
        },
        "nvidia-cuda-crt": {f"{top}/include/crt/host_config.h": ""},
        "nvidia-cuda-runtime": {
            f"{top}/include/cuda.h": "#define CUDA_VERSION 13000",
            f"{top}/lib/{name}": runtime(name),
            f"{top}/lib/libcudart_static.a": "big, and not wanted",
        },
        "nvidia-cuda-cccl": {f"{top}/include/cccl/cub/cub.cuh": "", f"{top}/.metadata/x": ""},
    }
    for package, files in wheels.items():
        write(folder, package, files, of="cuda-13.0")


def write_cuda_12(folder: Path) -> None:
    wheels: dict[str, dict[str, str | bytes]] = {
        "nvidia-cuda-nvcc-cu12": {
            "nvidia/cuda_nvcc/bin/ptxas": "ptxas",
            "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc": "bitcode",
            "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so": "big, and not wanted",
            "nvidia/cuda_nvcc/include/__init__.py": "",
        },
        "nvidia-cuda-runtime-cu12": {
            "nvidia/cuda_runtime/include/cuda.h": "#define CUDA_VERSION 12060",
            "nvidia/cuda_runtime/lib/libcudart.so.12": runtime("libcudart.so.12"),
        },
        "nvidia-cuda-cccl-cu12": {"nvidia/cuda_cccl/include/cub/cub.cuh": ""},
        "nvidia-cuda-nvcc": {
            "nvidia/cu13/bin/fatbinary": '#!/bin/sh\nprintf "%s\\n" "$@"\n',
            "nvidia/cu13/bin/nvcc": "not wanted",
        },
    }
    for package, files in wheels.items():
        write(folder, package, files, of="cuda-12.6")


def paths(sdk: Sdk) -> list[str]:
    found = (it.relative_to(sdk.tree).as_posix() for it in sdk.tree.rglob("*") if it.is_file())
    return sorted(it for it in found if not it.startswith("licenses/"))


def test_toolkit_of_cuda_13_has_nvcc_that_can_be_run(tmp_path: Path) -> None:
    write_cuda_13(tmp_path)
    sdk = make(tmp_path, "cuda-13.0")
    assert sdk.record.name == "cuda-13.0.88"
    assert sdk.record.facts == {"cuda": "13.0", "compiler": "nvcc"}
    assert paths(sdk) == [
        "bin/fatbinary",
        "bin/nvcc",
        "bin/nvcc.profile",
        "include/cccl/cub/cub.cuh",
        "include/crt/host_config.h",
        "include/cuda.h",
        "include/fatbinary_section.h",
        "lib/libcudart.so.13",
        "nvvm/bin/cicc",
        "nvvm/libdevice/libdevice.10.bc",
    ]
    programs = [it for it in paths(sdk) if os.access(sdk.tree / it, os.X_OK)]
    assert programs == ["bin/fatbinary", "bin/nvcc", "nvvm/bin/cicc"]
    license_text = (sdk.tree / "licenses/nvidia_cuda_nvcc.txt").read_text()
    assert license_text == "of nvidia-cuda-nvcc\n"


def test_runtime_is_a_stub_with_the_real_ones_versions(tmp_path: Path) -> None:
    write_cuda_13(tmp_path)
    stub = elf.parse((make(tmp_path, "cuda-13.0").tree / "lib/libcudart.so.13").read_bytes())
    assert read_soname(stub) == "libcudart.so.13"
    assert [(it.name, it.version) for it in read_exports(stub)] == [
        ("__cudaGetKernel", "libcudart.so.13"),
        ("cudaFree", "libcudart.so.13"),
    ]


def test_same_wheels_make_the_same_toolkit(tmp_path: Path) -> None:
    write_cuda_13(tmp_path / "a")
    write_cuda_13(tmp_path / "b")
    first, second = make(tmp_path / "a", "cuda-13.0"), make(tmp_path / "b", "cuda-13.0.88")
    assert first.record == second.record


def test_toolkit_of_cuda_12_is_one_for_clang(tmp_path: Path) -> None:
    write_cuda_12(tmp_path)
    sdk = make(tmp_path, "cuda-12.6")
    assert sdk.record.name == "cuda-12.6.85"
    assert sdk.record.facts == {"cuda": "12.6", "compiler": "clang"}
    assert paths(sdk) == [
        "bin/fatbinary",
        "bin/fatbinary-13",
        "bin/ptxas",
        "include/cub/cub.cuh",
        "include/cuda.h",
        "include/curand_mtgp32_kernel.h",
        "lib/libcudart.so.12",
        "nvvm/libdevice/libdevice.10.bc",
    ]


def test_fatbinary_of_cuda_13_is_told_what_clang_means(tmp_path: Path) -> None:
    write_cuda_12(tmp_path)
    program = make(tmp_path, "cuda-12.6").tree / "bin/fatbinary"
    images = ["--image=profile=sm_90a,file=a b.cubin", "--image=profile=compute_90,file=k.s"]
    done = subprocess.run(
        [program, "--cuda", "-64", "--create", "out", *images],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "--compress=false",
        "-64",
        "--create",
        "out",
        "--image3=kind=elf,sm=90a,file=a b.cubin",
        "--image3=kind=ptx,sm=90,file=k.s",
    ]


def test_headers_of_the_libraries_are_all_that_is_kept_of_them(tmp_path: Path) -> None:
    for package in ("nvidia-cublas", "nvidia-cusparse", "nvidia-cusolver", "nvidia-curand"):
        short = package.removeprefix("nvidia-")
        header, library = f"include/{short}.h", f"lib/lib{short}.so.13"
        files = {f"nvidia/cu13/{header}": "", f"nvidia/cu13/{library}": "big"}
        write(tmp_path, package, files, of="cuda-math-13.0")
    sdk = make(tmp_path, "cuda-math-13.0")
    assert (sdk.record.name, sdk.record.facts) == ("cuda-math-13.0.2.14", {"cuda": "13.0"})
    names = ("cublas", "curand", "cusolver", "cusparse")
    assert paths(sdk) == [f"include/{it}.h" for it in names]


def test_unknown_release_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no cuda-11\.8 for x86_64-linux") as caught:
        make(tmp_path, "cuda-11.8")
    assert caught.value.hint == "there are cuda-13.0, cuda-13.2, cuda-12.6, cuda-12.8, cuda-12.9"


def test_every_release_of_the_matrix_can_be_fetched() -> None:
    wanted = {
        f"{it.version[0]}.{it.version[1]}"
        for series in load_matrix().series
        for it in series.computes
        if it.backend == "cuda" and it.version
    }
    assert wanted <= set(known_inputs()["cuda"])


def test_wheels_for_an_older_glibc_are_asked_for_too(tmp_path: Path) -> None:
    """pip takes a platform's exact name: NVIDIA's libraries are manylinux_2_27."""
    wanted = Wanted(name="nvidia-cublas", version="13.0.2.14")
    assert "manylinux_2_27_x86_64" in download_command(wanted, "x86_64-linux", tmp_path)
