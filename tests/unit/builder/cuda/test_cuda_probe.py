"""Probing folders made for the test, in the printed order (as C1 asks of ROCm)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.cuda.made_up import toolkit, write_program, write_toolkit
from tests.unit.builder.fakes import program

from kernelmill.builder.cuda.doctor import cuda_program
from kernelmill.builder.cuda.probe import probe_cuda
from kernelmill.builder.cuda.toolchain import choose, require
from kernelmill.builder.errors import SdkMissing
from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.toolchain.programs import Candidate

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.cuda.toolchain import Trial


def probe(tmp_path: Path, **environ: str) -> tuple[Trial, ...]:
    return probe_cuda(
        {"PATH": str(tmp_path / "bin"), **environ},
        packages=["", str(tmp_path / "packages")],
        store=Store(tmp_path / "store"),
        local=str(tmp_path / "local"),
    )


def add_sdk(tmp_path: Path, kind: str, version: str, facts: dict[str, str]) -> Path:
    tree = tmp_path / "made" / kind
    if kind == "cuda":
        write_toolkit(tree, version)
    else:
        (tree / "include").mkdir(parents=True)
    record = SdkRecord(
        kind=kind,
        version=version,
        platform="x86_64-linux",
        inputs=(),
        facts=facts,
        nar_sha256="ab" * 32,
    )
    return Store(tmp_path / "store").install(record, tree).tree


def test_places_are_tried_in_the_printed_order(tmp_path: Path) -> None:
    for name in ("home", "local/cuda-12.9", "local/cuda-13.2", "packages/nvidia/cu13"):
        version = f"{name.rpartition('-')[2]}.1" if "-" in name else "13.0.88"
        write_toolkit(tmp_path / name, version)
    (tmp_path / "local/cuda").symlink_to("cuda-12.9")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvcc").symlink_to("../local/cuda-13.2/bin/nvcc")
    add_sdk(tmp_path, "cuda", "13.0.88", {"cuda": "13.0"})
    found = probe(tmp_path, CUDA_HOME=str(tmp_path / "home"))
    assert [(it.source, it.toolkit and it.toolkit.version_text) for it in found] == [
        ("$CUDA_HOME", "nvcc 13.0.88"),
        ("$CUDA_PATH", None),
        ("nvcc on PATH", "nvcc 13.2.1"),
        (str(tmp_path / "local"), "nvcc 12.9.1"),
        (str(tmp_path / "local"), "nvcc 13.2.1"),
        (str(tmp_path / "local"), "nvcc 12.9.1"),
        ("Python packages", "nvcc 13.0.88"),
        ("SDK cuda-13.0.88", "nvcc 13.0.88"),
    ]
    assert require(found, (13, 2)).root == str(tmp_path / "local/cuda-13.2")


def test_nothing_is_named_place_by_place_when_there_is_no_toolkit(tmp_path: Path) -> None:
    found = probe(tmp_path, CUDA_HOME="")
    assert {it.objection for it in found} == {"not found"}
    assert choose(found) is None
    with pytest.raises(SdkMissing, match=r"no CUDA 13\.2 toolkit: none was found") as caught:
        require(found, (13, 2))
    assert caught.value.name == "cuda-13.2"
    assert caught.value.hint == "kernel-builder sdk fetch cuda-13.2; or set CUDA_HOME"


@pytest.mark.parametrize(
    ("without", "objection"),
    [
        pytest.param("bin/nvcc", "no bin/nvcc", id="compiler"),
        pytest.param("include/cuda_runtime_api.h", "no include/cuda_runtime_api.h", id="headers"),
        pytest.param("lib/libcudart.so.13", "no lib/libcudart.so.13", id="runtime"),
    ],
)
def test_part_that_a_toolkit_lacks_is_named(tmp_path: Path, without: str, objection: str) -> None:
    root = write_toolkit(tmp_path / "cuda", without=without)
    first = probe(tmp_path, CUDA_HOME=str(root))[0]
    assert (first.toolkit, first.objection) == (None, objection)


def test_packages_of_pytorch_alone_are_completed_by_name(tmp_path: Path) -> None:
    """PyTorch brings the runtime's package; the compiler's are others."""
    write_toolkit(tmp_path / "packages/nvidia/cu13", without="bin/nvcc")
    found = {it.source: it.objection for it in probe(tmp_path)}
    assert found["Python packages"].startswith("no bin/nvcc: pip install nvidia-cuda-{nvcc,")


def test_nvcc_that_does_not_run_is_said_so(tmp_path: Path) -> None:
    root = write_toolkit(tmp_path / "cuda")
    write_program(root / "bin/nvcc", "echo broken >&2; exit 3")
    assert probe(tmp_path, CUDA_HOME=str(root))[0].objection == "fails: broken"


def test_wrapper_on_path_is_asked_where_its_toolkit_is(tmp_path: Path) -> None:
    root = write_toolkit(tmp_path / "elsewhere")
    write_program(tmp_path / "bin/nvcc", f"echo '#$ TOP={root}/bin/..' >&2")
    found = {it.source: it for it in probe(tmp_path)}["nvcc on PATH"]
    assert found.root == str(root)
    assert found.toolkit is not None


def test_sdk_of_the_libraries_headers_comes_after_the_toolkits_own(tmp_path: Path) -> None:
    tree = add_sdk(tmp_path, "cuda", "13.0.88", {"cuda": "13.0"})
    math = add_sdk(tmp_path, "cuda-math", "13.0.2.14", {"cuda": "13.0"})
    found = choose(probe(tmp_path))
    assert found is not None
    assert found.include == tuple(
        map(str, (tree / "include", tree / "include/cccl", math / "include"))
    )
    assert set(found.inputs) == {"cuda-13.0.88", "cuda-math-13.0.2.14"}


def test_headers_of_another_major_version_are_not_taken(tmp_path: Path) -> None:
    add_sdk(tmp_path, "cuda", "13.2.86", {"cuda": "13.2"})
    add_sdk(tmp_path, "cuda-math", "12.9.1", {"cuda": "12.9"})
    found = choose(probe(tmp_path))
    assert found is not None
    assert len(found.include) == 2


def test_toolkit_without_nvcc_is_compiled_with_by_clang(tmp_path: Path) -> None:
    root = write_toolkit(tmp_path / "cuda", "12.9.86", without="bin/nvcc")
    write_program(root / "bin/fatbinary", "")
    missing = probe(tmp_path, CUDA_HOME=str(root))[0]
    assert missing.objection == "it has no nvcc, and there is no clang++ 19 or later on PATH"
    for name, version in (("clang++", "18.1.0"), ("clang++-19", "19.1.7")):
        write_program(
            tmp_path / "bin" / name,
            f'case "$1" in\n--version) echo "Debian clang version {version} (3)" ;;\n'
            "*) printf 'sm_80\\nsm_90\\nsm_90a\\n' ;;\nesac",
        )
    found = probe(tmp_path, CUDA_HOME=str(root))[0].toolkit
    assert found is not None
    assert (found.kind, found.compiler) == ("clang", str(tmp_path / "bin/clang++-19"))
    assert found.summary == "CUDA 12.9, compiled by clang version 19.1.7"
    assert found.archs == {"8.0", "9.0"}


@pytest.mark.parametrize(
    ("path", "version", "objection"),
    [
        pytest.param("/usr/bin/g++", "12.2.0", "", id="gcc-that-is-taken"),
        pytest.param(
            "/usr/bin/g++-16",
            "16.1.0",
            "CUDA 13.0 takes gcc up to 15, and /usr/bin/g++-16 is 16.1.0",
            id="gcc-too-new",
        ),
        pytest.param(
            "/usr/bin/clang++",
            "21.0.0",
            "CUDA 13.0 takes clang up to 20, and /usr/bin/clang++ is 21.0.0",
            id="clang-too-new",
        ),
        pytest.param("/usr/bin/c++", "", "", id="says-nothing"),
    ],
)
def test_host_compiler_that_nvcc_refuses_is_one_line(
    path: str, version: str, objection: str
) -> None:
    cxx = Candidate(source="$CXX", path=path, version=version)
    assert toolkit().objection_to(cxx) == objection


def test_newest_host_compilers_are_read_from_the_headers(tmp_path: Path) -> None:
    found = choose(probe(tmp_path, CUDA_HOME=str(write_toolkit(tmp_path / "cuda"))))
    assert found is not None
    assert found.newest_host == {"gcc": 15, "clang": 20}


def test_doctor_shows_each_place_and_the_reason(tmp_path: Path) -> None:
    root = write_toolkit(tmp_path / "cuda")
    trials = probe(tmp_path, CUDA_PATH=str(root))
    told = cuda_program(trials, program("C++ compiler", "/usr/bin/g++"))
    assert told.name == "compiler for NVIDIA GPUs"
    assert [(it.source, it.version, it.problem) for it in told.candidates[:2]] == [
        ("$CUDA_HOME", "", "not found"),
        ("$CUDA_PATH", "nvcc 13.0.88", ""),
    ]


def test_generated_project_finds_what_the_builder_finds(tmp_path: Path) -> None:
    root = write_toolkit(tmp_path / "cuda", "13.2.1")
    script = resources.files("kernelmill.builder") / "templates/project/cmake/cuda_facts.py"
    copy = tmp_path / "cuda_facts.py"
    shutil.copyfile(str(script), copy)
    done = subprocess.run(
        [sys.executable, "-I", str(copy)],
        env={"CUDA_HOME": str(root), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    first = json.loads(done.stdout)["places"][0]
    assert first == {
        "source": "$CUDA_HOME",
        "root": str(root),
        "problem": "",
        "compiler": str(root / "bin/nvcc"),
        "release": "13.2",
        "include": [str(root / "include"), str(root / "include/cccl")],
        "runtime": str(root / "lib/libcudart.so.13"),
    }
