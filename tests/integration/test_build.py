"""Kernels built for real: the scaffold of ``init``, for the CPU and for gfx942."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, cast

import pytest

LOADER: Final = """
import importlib.util, json, pathlib, sys, torch

def load(folder):
    folder = pathlib.Path(folder)
    name = json.loads((folder / "metadata.json").read_text())["id"]
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""


def run_builder(
    *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kernelmill.builder", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(it for it in sys.path if it)}
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def build(root: Path, *arguments: str) -> dict[str, Path]:
    """Build a kernel and return backend -> folder."""
    done = run_builder("build", root, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    variants = json.loads(done.stdout)["variants"]
    return {"rocm" if it["archs"] else "cpu": Path(it["folder"]) for it in variants}


def run_python(script: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOADER + script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_bytes(folder: Path) -> dict[str, bytes]:
    return {it.name: it.read_bytes() for it in sorted(folder.iterdir()) if it.is_file()}


def copy_sources(root: Path, target: Path) -> Path:
    shutil.copytree(root, target, ignore=shutil.ignore_patterns("build", ".kernelmill"))
    return target


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


BARE: Final = {
    "build.toml": """\
[general]
name = "bare"
version = 1
edition = 5
license = "MIT"
backends = ["cpu", "rocm"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.host]
backend = "cpu"
depends = ["torch"]
src = ["src/host.cpp"]

[kernel.device]
backend = "rocm"
depends = ["torch"]
rocm-archs = ["gfx942", "gfx90a"]
src = ["src/device.hip", "src/launch.cpp"]
""",
    "torch-ext/binding.cpp": """\
#include "registration.h"
int answer();
int used = answer();
REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
""",
    "torch-ext/bare/__init__.py": "from ._ops import ops\n",
    "src/host.cpp": "int answer() { return 42; }\n",
    "src/device.hip": """\
#include <hip/hip_runtime.h>
__global__ void fill(int* out) { out[threadIdx.x] = 42; }
hipError_t launch(int* out, hipStream_t stream) {
  fill<<<dim3(1), dim3(64), 0, stream>>>(out);
  return hipGetLastError();
}
""",
    "src/launch.cpp": """\
#include <hip/hip_runtime.h>
hipError_t launch(int* out, hipStream_t stream);
int answer() { return launch(nullptr, nullptr); }
""",
}
"""A kernel that includes none of torch's headers: it builds in a second."""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return the folder of a kernel that builds quickly, not built yet."""
    for path, text in BARE.items():
        (tmp_path / "bare" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bare" / path).write_text(text)
    return tmp_path / "bare"


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the scaffold's folder; its name has a space in it."""
    root = tmp_path_factory.mktemp("builder") / "my kernel"
    done = run_builder("init", root, "--name", "someone/my-relu", "--backends", "cpu,rocm")
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="session")
def variants(kernel: Path) -> dict[str, Path]:
    """Return the scaffold's builds."""
    return build(kernel)


@pytest.fixture(scope="session")
def other(
    kernel: Path, variants: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a kernel of the same name that does something else, built for the CPU."""
    root = copy_sources(kernel, tmp_path_factory.mktemp("other") / "kernel")
    edit(root / "my_relu/relu_cpu.cpp", "0.0f : input[i]", "-1.0f : input[i]")
    build(root, "--backend", "cpu")
    return root


def test_cpu_build_computes_and_compiles(variants: dict[str, Path]) -> None:
    printed = run_python(
        """
kernel = load(sys.argv[1])
x = torch.tensor([-1.0, 0.0, 2.5, float("nan")])
torch.testing.assert_close(kernel.relu(x), torch.relu(x), equal_nan=True, rtol=0, atol=0)
compiled = torch.compile(lambda y: kernel.relu(y) + 1, fullgraph=True, backend="aot_eager")
torch.testing.assert_close(compiled(x), torch.relu(x) + 1, equal_nan=True)
name = kernel.add_op_namespace_prefix("relu").partition("::")[0]
torch.library.opcheck(getattr(torch.ops, name).relu.default, (torch.empty(4), x))
try:
    kernel.relu(x.double())
except RuntimeError as error:
    print(error)
""",
        variants["cpu"],
    )
    assert printed.startswith("relu: input is Double, want float32")


def test_scaffold_passes_its_own_tests_and_runs_its_example(
    kernel: Path, variants: dict[str, Path]
) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(it for it in sys.path if it)}
    few = ("--backend", "cpu", "--iterations", "3", "--warmup", "0")
    scripts = (
        (["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], "5 passed"),
        (["example.py"], "tensor([0., 0., 2.])"),
        (["benchmarks/benchmark.py"], "torch.clamp_min: "),
        (["-m", "kernelmill.runtime", "benchmark", ".", "--json", *few], '"Relu.relu"'),
    )
    for arguments, expected in scripts:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=kernel,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert expected in done.stdout


def test_cpu_build_needs_no_path_of_this_machine(kernel: Path, variants: dict[str, Path]) -> None:
    for folder in variants.values():
        for name, data in read_bytes(folder).items():
            assert str(kernel).encode() not in data, name
            assert sys.prefix.encode() not in data, name


def test_two_builds_of_one_kernel_live_in_one_process(
    variants: dict[str, Path], other: Path
) -> None:
    printed = run_python(
        """
first, second = load(sys.argv[1]), load(sys.argv[2])
x = torch.tensor([-3.0, 1.0])
print(first.relu(x).tolist(), second.relu(x).tolist())
""",
        variants["cpu"],
        other / "build" / variants["cpu"].name,
    )
    assert printed == "[0.0, 1.0] [-1.0, 1.0]\n"


def test_equal_sources_give_equal_bytes_in_another_folder(bare: Path, tmp_path: Path) -> None:
    first = build(bare)
    second = build(copy_sources(bare, tmp_path / "else where"))
    for backend in ("cpu", "rocm"):
        assert first[backend].name == second[backend].name
        assert read_bytes(first[backend]) == read_bytes(second[backend])


def test_failed_compile_shows_the_error_and_leaves_the_old_build(bare: Path) -> None:
    folder = build(bare, "--backend", "cpu")["cpu"]
    before = read_bytes(folder)
    edit(bare / "src/host.cpp", "int answer", "int missing = nowhere;\nint answer")
    done = run_builder("build", bare, "--backend", "cpu")
    assert done.returncode == 1
    assert "src/host.cpp:1:15: error: 'nowhere' was not declared in this scope" in done.stderr
    assert "the whole log is in" in done.stderr
    assert len(done.stderr.splitlines()) < 12
    assert read_bytes(folder) == before
    assert [it.name for it in (bare / "build").iterdir()] == [folder.name]


def test_failed_device_compile_shows_the_error(bare: Path) -> None:
    edit(bare / "src/device.hip", "out[threadIdx.x] = 42", "out[nowhere] = 42")
    done = run_builder("build", bare, "--backend", "rocm")
    assert done.returncode == 1
    assert "use of undeclared identifier 'nowhere'" in done.stderr
    assert not (bare / "build").exists()


def test_header_of_the_rocm_sdk_is_named_when_it_is_missing(bare: Path) -> None:
    edit(bare / "src/device.hip", "<hip/hip_runtime.h>", "<rocwmma/rocwmma.hpp>")
    done = run_builder("build", bare, "--backend", "rocm")
    assert done.returncode == 2
    assert "src/device.hip:1: 'rocwmma/rocwmma.hpp' is not among the HIP headers" in done.stderr
    assert "hint: a ROCm SDK brings it: set ROCM_PATH; without one there are " in done.stderr


def test_build_replaces_the_extension_of_an_earlier_source(bare: Path) -> None:
    folder = build(bare, "--backend", "cpu")["cpu"]
    before = {it.name for it in folder.glob("*.so")}
    edit(bare / "src/host.cpp", "42", "43")
    build(bare, "--backend", "cpu")
    after = {it.name for it in folder.glob("*.so")}
    assert len(after) == 1
    assert after.isdisjoint(before)


def test_build_works_from_another_folder_by_a_link(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(bare)
    (tmp_path / "cwd").mkdir()
    done = run_builder("build", "../link", "--backend", "cpu", cwd=tmp_path / "cwd")
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(bare)


def test_header_that_the_manifest_does_not_name_is_refused(bare: Path) -> None:
    (bare / "hidden.h").write_text("#pragma once\n")
    edit(bare / "src/host.cpp", "int answer", '#include "../hidden.h"\nint answer')
    done = run_builder("build", bare, "--backend", "cpu")
    assert done.returncode == 1
    assert "hidden.h is compiled in, but build.toml does not name it" in done.stderr
    assert not (bare / "build").exists()


def test_import_of_the_kernel_by_its_own_name_is_refused(bare: Path) -> None:
    (bare / "torch-ext/bare/__init__.py").write_text("from bare._ops import ops\n")
    done = run_builder("build", bare, "--backend", "cpu")
    assert done.returncode == 1
    assert "__init__.py:1: absolute import of 'bare._ops'" in done.stderr
    assert "use a relative import" in done.stderr
    assert not (bare / "build").exists()


def test_binding_without_a_python_module_is_refused(bare: Path) -> None:
    edit(bare / "torch-ext/binding.cpp", "REGISTER_EXTENSION(TORCH_EXTENSION_NAME)", "")
    done = run_builder("build", bare, "--backend", "cpu")
    assert done.returncode == 1
    assert "Python cannot import the extension: it has no PyInit__bare_cpu_" in done.stderr
    assert "REGISTER_EXTENSION(TORCH_EXTENSION_NAME)" in done.stderr


def test_rocm_build_has_exactly_the_archs_that_were_asked_for(bare: Path) -> None:
    folder = build(bare, "--backend", "rocm", "--rocm", "6.4")["rocm"]
    assert folder.name.endswith("-cxx11-rocm64-x86_64-linux")
    report = inspect(folder)
    assert sorted(it["arch"] for it in report["code_objects"]) == ["gfx90a", "gfx942"]
    assert "libamdhip64.so.6" in report["linkage"]["needed"]
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["backend"]["archs"] == ["gfx90a", "gfx942"]


def test_provenance_names_the_commit_and_tells_a_dirty_tree(bare: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        command = ["git", *identity, "-C", str(bare), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def provenance() -> dict[str, Any]:
        folder = build(bare, "--backend", "cpu")["cpu"]
        metadata = json.loads((folder / "metadata.json").read_text())
        return cast("dict[str, Any]", metadata["provenance"].get("kernel", {}))

    git("init", "--quiet")
    assert provenance() == {}
    git("add", "build.toml", "src", "torch-ext")
    git("commit", "--quiet", "--message", "first")
    commit = git("rev-parse", "HEAD")
    (bare / "notes.txt").write_text("not tracked")
    assert provenance() == {"commit": commit, "dirty": False}
    edit(bare / "src/host.cpp", "42", "43")
    assert provenance() == {"commit": commit, "dirty": True}


def inspect(path: Path) -> dict[str, Any]:
    done = run_builder("inspect", path, "--json")
    assert done.returncode == 0, done.stderr
    return cast("dict[str, Any]", json.loads(done.stdout))


def test_rocm_build_is_for_gfx942_and_the_right_runtime(variants: dict[str, Path]) -> None:
    report = inspect(variants["rocm"])
    assert variants["rocm"].name.endswith("-cxx11-rocm71-x86_64-linux")
    assert [it for it in report["linkage"]["needed"] if "hip" in it] == ["libamdhip64.so.7"]
    assert report["linkage"]["search_path"] == []
    assert report["device_status"] == "compiled, not executed"
    (code_object,) = report["code_objects"]
    assert (code_object["arch"], code_object["code_object_version"]) == ("gfx942", 5)
    (facts,) = code_object["kernels"]
    assert "relu_kernel" in facts["name"]
    assert (facts["max_workgroup_size"], facts["private_bytes"]) == (256, 0)
    assert facts["mfma"] == {}
    metadata = json.loads((variants["rocm"] / "metadata.json").read_text())
    assert metadata["backend"] == {"type": "rocm", "archs": ["gfx942"]}
    assert metadata["kernelmill"]["cross"] is True
    assert "clang" in metadata["kernelmill"]["compilers"]["hip"]


def test_inspect_prints_facts_for_people(variants: dict[str, Path]) -> None:
    done = run_builder("inspect", variants["rocm"])
    assert "gfx942 kernels (compiled, not executed):" in done.stdout
    assert "relu_kernel(" in done.stdout
    assert "0 spilled, 0 bytes of scratch" in done.stdout
    assert "libamdhip64.so.7" in done.stdout


def test_upload_refuses_a_changed_file_before_anything_is_sent(
    variants: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "build" / variants["cpu"].name
    shutil.copytree(variants["cpu"], folder)
    (folder / "__init__.py").write_text("# changed\n")
    done = run_builder("upload", tmp_path, "--repo-id", "someone/my-relu")
    assert done.returncode == 1
    assert "File hash mismatch for __init__.py" in done.stderr


def test_generated_project_builds_the_same_bytes_by_hand(
    kernel: Path, variants: dict[str, Path], tmp_path: Path
) -> None:
    root = copy_sources(kernel, tmp_path / "by hand")
    assert run_builder("create-pyproject", root).returncode == 0
    scripts = Path(sys.executable).parent
    for command in (
        ["cmake", "-B", "build", "-G", "Ninja", f"-DPython3_EXECUTABLE={sys.executable}"],
        ["cmake", "--build", "build", "--target", "local_install"],
    ):
        done = subprocess.run(
            command,
            cwd=root,
            env={"PATH": f"{scripts}:/usr/bin:/bin", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    by_hand, built = read_bytes(root / "build" / variants["cpu"].name), read_bytes(variants["cpu"])
    assert (root / "build/compile_commands.json").is_file()
    # By hand there is no digest and no record of the build.
    assert (
        json.loads(by_hand.pop("metadata.json")).items()
        <= json.loads(built.pop("metadata.json")).items()
    )
    assert by_hand == built


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("a$b", "holds a character that build tools mistake"),
        ("a;b", "holds a character that build tools mistake"),
        ("plain", "'build' is not a folder"),
    ],
)
def test_build_is_refused_before_it_starts_when_it_could_not_end(
    tmp_path: Path, folder: str, problem: str
) -> None:
    root = tmp_path / folder
    assert run_builder("init", root, "--name", "acme/toy", "--backends", "cpu").returncode == 0
    (root / "build").write_text("a file")
    done = run_builder("build", root, "--backend", "cpu")
    assert (done.returncode, problem in done.stderr) == (3, True), done.stderr
    assert not (root / ".kernelmill").exists()
