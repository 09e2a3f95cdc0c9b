"""CUDA kernels compiled for real, by nvcc or clang. Nothing here runs them: there is no GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.conftest import ROOT
from tests.integration.test_kernel_tests import IGNORE, builder, run_module

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.check.archs import read_archs
from kernelmill.builder.cuda.probe import probe_cuda
from kernelmill.builder.cuda.toolchain import choose
from kernelmill.builder.sdk.store import open_store
from kernelmill.builder.toolchain import require
from kernelmill.builder.toolchain.programs import probe_cmake, probe_ninja

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("torch")
WHEELS: Final = ROOT / ".venv-cuda/nvidia/cu13"
"""NVIDIA's compiler as Python packages: `make test` puts it there."""
CONTEXT: Final = "#include <ATen/cuda/CUDAContext.h>\n"


def skip_or_fail(reason: str) -> None:
    if os.environ.get("KERNELMILL_REQUIRE_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def cuda_home() -> str:
    """The folder of a toolkit with nvcc: that of the packages, else any that is here."""
    if WHEELS.is_dir():
        return str(WHEELS)
    found = choose(probe_cuda(os.environ, packages=sys.path, store=open_store(os.environ)))
    if found is None or found.kind != "nvcc":
        skip_or_fail("no nvcc: `make .venv-cuda/ready` installs it")
    assert found is not None
    return found.root


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A variant, and the folder of its kernel."""

    kernel: Path
    variant: Path

    @property
    def extension(self) -> bytes:
        (path,) = self.variant.glob("*.so")
        return path.read_bytes()

    @property
    def metadata(self) -> dict[str, Any]:
        return dict(json.loads((self.variant / "metadata.json").read_text()))


def copy_example(name: str, to: Path) -> Path:
    return shutil.copytree(ROOT / "examples" / name, to / name, ignore=IGNORE)


def build(kernel: Path, *arguments: str, **env: str) -> Built:
    words = ["build", str(kernel), "--json", *arguments]
    done = run_module("kernelmill.builder", *words, cwd=kernel, **env)
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)["variants"]
    assert made["result"] == "built"
    return Built(kernel=kernel, variant=kernel / "build" / made["variant"])


@pytest.fixture(scope="module")
def stable(tmp_path_factory: pytest.TempPathFactory, cuda_home: str) -> Built:
    kernel = copy_example("relu-stable", tmp_path_factory.mktemp("cuda"))
    return build(kernel, "--backend", "cuda", "--no-manylinux", CUDA_HOME=cuda_home)


def test_binary_holds_code_for_exactly_the_manifests_architectures(stable: Built) -> None:
    found = read_archs(stable.extension, where="relu")
    assert sorted(set(found)) == ["8.0", "9.0", "9.0+PTX"]
    assert stable.metadata["backend"] == {"type": "cuda", "archs": ["8.0", "9.0+PTX"]}


def test_binary_needs_the_runtime_of_its_cuda_and_pytorchs_cuda_library(stable: Built) -> None:
    linkage = read_linkage(elf.parse(stable.extension))
    major = stable.variant.name.split("-cu")[1][:2]
    assert {f"libcudart.so.{major}", "libtorch_cuda.so"} <= set(linkage.needed)
    assert (linkage.runpath, linkage.rpath) == ((), ())


def test_record_names_nvcc_and_says_that_it_was_not_for_this_torch(stable: Built) -> None:
    record = stable.metadata["kernelmill"]
    assert record["compilers"]["cuda"].startswith("nvcc ")
    assert record["cross"] is True


def test_headers_of_device_code_are_watched(stable: Built) -> None:
    (folder,) = stable.kernel.glob(".kernelmill/*/cmake")
    made = "cuda/relu_cuda/relu/relu_cuda.cu.o"
    command = [require(probe_ninja()).path, "-C", str(folder), "-t", "deps", made]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{stable.kernel}/relu/relu.h" in done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, cuda_home: str) -> Path:
    """A generated project in a folder of its own, for plain CMake."""
    kernel = copy_example("relu-stable", tmp_path_factory.mktemp("plain-cmake"))
    builder("create-pyproject", kernel, "--backend", "cuda", cwd=kernel, CUDA_HOME=cuda_home)
    return kernel


def configure(kernel: Path, cuda_home: str) -> subprocess.CompletedProcess[str]:
    tools = [f"-DCMAKE_MAKE_PROGRAM={require(probe_ninja()).path}"]
    tools += [f"-DPython3_EXECUTABLE={sys.executable}", "-DKERNEL_BACKEND=cuda"]
    return subprocess.run(
        [require(probe_cmake()).path, "-B", "made", "-G", "Ninja", *tools],
        cwd=kernel,
        env={**os.environ, "CUDA_HOME": cuda_home},
        capture_output=True,
        text=True,
        check=False,
    )


def test_plain_cmake_gives_the_same_bytes_in_another_folder(
    stable: Built, project: Path, cuda_home: str
) -> None:
    """Names in nvcc's objects are made of paths, process numbers and times, unless it is told."""
    assert configure(project, cuda_home).returncode == 0
    command = [require(probe_cmake()).path, "--build", "made", "--target", "local_install"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    other = Built(kernel=project, variant=project / "build" / stable.variant.name)
    assert other.extension == stable.extension
    assert str(stable.kernel).encode() not in stable.extension


def test_project_for_another_cuda_says_where_it_looked(
    project: Path, tmp_path: Path, cuda_home: str
) -> None:
    ignore = shutil.ignore_patterns("made", "build")
    kernel = shutil.copytree(project, tmp_path / "other", ignore=ignore)
    lists = kernel / "CMakeLists.txt"
    text = lists.read_text()
    lists.write_text(text.replace('KERNEL_CUDA_VERSION "13.', 'KERNEL_CUDA_VERSION "99.'))
    done = configure(kernel, cuda_home)
    said = " ".join(done.stderr.split())
    assert done.returncode == 1
    assert f"$CUDA_HOME {cuda_home}: is CUDA 13." in said
    assert "this project was made for CUDA 99." in said


def test_d10_architecture_that_nvcc_cannot_target_stops_the_build(
    tmp_path: Path, cuda_home: str
) -> None:
    kernel = copy_example("relu-stable", tmp_path)
    manifest = kernel / "build.toml"
    manifest.write_text(manifest.read_text().replace('"8.0", "9.0+PTX"', '"7.0", "9.0+PTX"'))
    done = run_module(
        "kernelmill.builder", "build", kernel, "--backend", "cuda", cwd=kernel, CUDA_HOME=cuda_home
    )
    assert done.returncode == 2
    assert "'7.0' is not an architecture that CUDA 13." in done.stderr
    assert not (kernel / ".kernelmill").exists()


@pytest.fixture
def sdks(request: pytest.FixtureRequest) -> None:
    """Skip without the SDKs that the test's parameter lists."""
    store = open_store(os.environ)
    missing = [it for it in request.param if store.find(*it.rsplit("-", 1)) is None]
    if missing:
        skip_or_fail(f"first run: kernel-builder sdk fetch {' '.join(missing)}")


@pytest.mark.long
@pytest.mark.usefixtures("sdks")
@pytest.mark.parametrize("sdks", [("cuda-13.0", "torch-2.11.0", "abi-stubs-2.28")], indirect=True)
def test_full_interface_is_compiled_against_the_headers_of_a_torch_for_cuda(
    tmp_path: Path,
) -> None:
    kernel = copy_example("activation", tmp_path)
    variant = "torch211-cxx11-cu130-x86_64-linux"
    built = build(kernel, "--variant", variant, "--manylinux")
    assert built.metadata["backend"]["archs"][0] == "7.5"
    assert built.metadata["backend"]["archs"][-1] == "12.1+PTX"
    assert "torch-2.11.0+cu130" in built.metadata["kernelmill"]["inputs"]
    done = run_module("kernelmill.builder", "check-abi", kernel, cwd=kernel)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.usefixtures("sdks")
@pytest.mark.parametrize("sdks", [("cuda-13.0", "torch-2.12.0", "cuda-math-13.0")], indirect=True)
def test_binding_may_include_pytorchs_cuda_context(tmp_path: Path) -> None:
    kernel = copy_example("activation", tmp_path)
    binding = kernel / "torch-ext/torch_binding.cpp"
    binding.write_text(CONTEXT + binding.read_text())
    manifest, depends = kernel / "build.toml", 'backend = "cuda"\n'
    few = f'{depends}cuda-capabilities = ["9.0"]\n'
    manifest.write_text(manifest.read_text().replace(depends, few))
    variant = "torch212-cxx11-cu130-x86_64-linux"
    store, parts = open_store(os.environ), tmp_path / "store"
    parts.mkdir()
    for name in ("cuda-13.0", "torch-2.12.0"):
        sdk = store.require(*name.rsplit("-", 1))
        (parts / sdk.record.name).symlink_to(sdk.folder)
    home = str(parts / "cuda-13.0.88" / "tree")
    done = run_module(
        *("kernelmill.builder", "build", kernel, "--variant", variant, "--no-manylinux"),
        cwd=kernel,
        KERNELMILL_SDKS=str(parts),
        CUDA_HOME=home,
    )
    assert done.returncode == 2, done.stderr
    assert "'cusparse.h' is a header of CUDA's libraries" in done.stderr
    assert "hint: kernel-builder sdk fetch cuda-math-13.0" in done.stderr
    assert build(kernel, "--variant", variant).variant.is_dir()


@pytest.mark.long
@pytest.mark.usefixtures("sdks")
@pytest.mark.parametrize("sdks", [("cuda-12.6",)], indirect=True)
def test_cuda_12_is_compiled_by_clang(tmp_path: Path) -> None:
    kernel = copy_example("relu-stable", tmp_path)
    built = build(kernel, "--variant", "torch-stable-abi29-cu126-x86_64-linux")
    assert sorted(set(read_archs(built.extension, where="relu"))) == ["8.0", "9.0", "9.0+PTX"]
    assert "libcudart.so.12" in read_linkage(elf.parse(built.extension)).needed
    assert built.metadata["kernelmill"]["compilers"]["cuda"].startswith("clang version ")
