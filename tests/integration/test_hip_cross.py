"""HIP for gfx942 through plain CMake, with the compiler of the Python package ziglang."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelmill.binary import bundle, elf
from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.disassembly import count_matrix_instructions
from kernelmill.binary.symbols import Linkage, read_linkage
from kernelmill.builder.hip.diagnosis import explain_failure
from kernelmill.builder.hip.project import recipe_files

if TYPE_CHECKING:
    from collections.abc import Sequence

pytest.importorskip("ziglang")
cmake_wheel = pytest.importorskip("cmake")
ninja_wheel = pytest.importorskip("ninja")

SOURCE = Path(__file__).parents[1] / "unit" / "binary" / "data" / "fp8_tile.hip"
TIMEOUT_S = 120
LISTS = """\
cmake_minimum_required(VERSION 3.26)
project(tile LANGUAGES CXX)
include(cmake/hip_cross.cmake)
add_library(tile MODULE host.cpp)
hip_cross_sources(tile ID _tile_rocm_0123456789 ARCHS {archs} SOURCES src/tile.hip INCLUDES include)
"""
HOST = """\
#include <hip/hip_runtime.h>
extern "C" int host_part() { return hipSuccess; }
"""
LOAD = """\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.launch_fp8_tile(None, None, None, None)
print("loaded", library.host_part())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A generated project, as it is on an author's disk."""

    folder: Path

    @property
    def build(self) -> Path:
        return self.folder / "build"

    @property
    def library(self) -> bytes:
        return (self.build / "libtile.so").read_bytes()

    def linkage(self) -> Linkage:
        return read_linkage(elf.parse(self.library))

    def configure(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        ninja = Path(ninja_wheel.BIN_DIR) / "ninja"
        variables = [f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DPython3_EXECUTABLE={sys.executable}"]
        return self._cmake("-G", "Ninja", "-B", "build", *variables, *arguments)

    def compile(self) -> subprocess.CompletedProcess[str]:
        return self._cmake("--build", "build")

    def make(self, *arguments: str) -> None:
        for done in (self.configure(*arguments), self.compile()):
            assert done.returncode == 0, done.stdout + done.stderr

    def _cmake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run([str(Path(cmake_wheel.CMAKE_BIN_DIR) / "cmake"), *arguments], cwd=self.folder)


def run(
    command: Sequence[str], *, cwd: Path, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def write_project(folder: Path, *, source: str | None = None, archs: str = "gfx942") -> Project:
    files = {
        **recipe_files(),
        "CMakeLists.txt": LISTS.format(archs=archs),
        "host.cpp": HOST,
        "include/tile.h": "#pragma once\n",
        "src/tile.hip": source or f'#include "tile.h"\n{SOURCE.read_text("utf-8")}',
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return Project(folder=folder)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that was built as a user would: no variable says which compiler."""
    made = write_project(tmp_path_factory.mktemp("first") / "project")
    made.make()
    return made


def test_device_code_tells_what_it_costs_when_compiled_for_gfx942(project: Project) -> None:
    (found,) = read_code_objects(project.library)
    assert (found.target, found.version) == ("gfx942", 5)
    tile = found.kernels[0]
    assert (tile.name, tile.max_workgroup_size) == ("fp8_tile", 256)
    assert (tile.lds_bytes, tile.private_bytes) == (2048, 0)
    assert (tile.vgpr_spills, tile.sgpr_spills) == (0, 0)
    assert 0 < tile.vgpr_count <= 32
    assert count_matrix_instructions(found)["fp8_tile"] == {"v_mfma_f32_16x16x32_fp8_fp8": 1}


def test_library_wants_the_hip_runtime_by_name_and_version_when_linked(project: Project) -> None:
    linkage = project.linkage()
    assert "libamdhip64.so.7" in linkage.needed
    hip = [reference for reference in linkage.undefined if "hip" in reference.name]
    assert "hipLaunchKernel@hip_4.2" in [str(reference) for reference in hip]
    assert {reference.library for reference in hip} == {"libamdhip64.so.7"}
    assert (linkage.runpath, linkage.rpath) == ((), ())


def test_stub_is_the_runtime_by_name_and_versions(project: Project) -> None:
    (path,) = (project.build / "hip_cross" / "lib").glob("libamdhip64.so.*")
    linkage = read_linkage(elf.parse(path.read_bytes()))
    assert (path.name, linkage.soname, linkage.needed) == (*["libamdhip64.so.7"] * 2, ())
    offered = [str(reference) for reference in linkage.defined]
    assert "hipLaunchKernel@hip_4.2" in offered
    assert "hipGetDevicePropertiesR0600@hip_6.0" in offered


def test_library_holds_no_path_of_this_machine_when_built(project: Project) -> None:
    assert os.fsencode(project.folder) not in project.library


def test_loading_fails_honestly_when_there_is_no_hip_runtime(project: Project) -> None:
    path = str(project.build / "libtile.so")
    done = run([sys.executable, "-c", LOAD, path], cwd=project.folder)
    assert done.returncode != 0
    assert "libamdhip64.so.7: cannot open shared object file" in done.stderr


def test_loading_and_launching_work_when_the_stub_is_there(project: Project) -> None:
    path, stub = project.build / "libtile.so", project.build / "hip_cross" / "lib"
    environ = {"LD_LIBRARY_PATH": str(stub)}
    done = run([sys.executable, "-c", LOAD, str(path)], cwd=project.folder, environ=environ)
    assert (done.stdout, done.returncode) == ("loaded 0\n", 0), done.stderr


def test_bytes_are_the_same_when_built_in_another_folder(project: Project, tmp_path: Path) -> None:
    other = write_project(tmp_path / "quite" / "another" / "folder")
    other.make()
    assert other.library == project.library


def test_bundler_writes_what_the_reader_of_bundles_would(project: Project) -> None:
    code = next(project.build.rglob("*.gfx942.co")).read_bytes()
    entries = [
        bundle.Entry(id="host-x86_64-unknown-linux--", data=b""),
        bundle.Entry(id=bundle.device_id("gfx942"), data=code),
    ]
    assert next(project.build.rglob("*.hipfb")).read_bytes() == bundle.build(entries)


def test_only_what_changed_is_compiled_when_a_header_changes(tmp_path: Path) -> None:
    made = write_project(tmp_path)
    made.make()
    (tmp_path / "include" / "tile.h").write_text("#pragma once\n#define CHANGED 1\n", "utf-8")
    again = made.compile().stdout
    assert "Compiling src/tile.hip for gfx942" in again
    assert "host.cpp" not in again
    assert "no work to do" in made.compile().stdout


def test_library_serves_two_gpus_and_rocm_6_when_asked(tmp_path: Path) -> None:
    made = write_project(tmp_path, archs="gfx950 gfx942")
    made.make("-DHIP_CROSS_ROCM_VERSION=6.4")
    assert [code.target for code in read_code_objects(made.library)] == ["gfx942", "gfx950"]
    assert "libamdhip64.so.6" in made.linkage().needed


def test_configuring_lists_what_is_possible_when_arch_is_unknown(tmp_path: Path) -> None:
    done = write_project(tmp_path, archs="gfx9999").configure()
    assert done.returncode != 0
    text = " ".join(done.stderr.split())
    assert "'gfx9999' is not an architecture that" in text
    assert "gfx942" in text


def test_configuring_refuses_when_rocm_version_is_unknown(tmp_path: Path) -> None:
    done = write_project(tmp_path).configure("-DHIP_CROSS_ROCM_VERSION=5.7")
    assert done.returncode != 0
    assert "HIP_CROSS_ROCM_VERSION is '5.7': only ROCm 6 and 7 are known" in done.stderr


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        pytest.param(
            "#include <hip/hip_runtime.h>\n#include <rocwmma/rocwmma.hpp>\n",
            "src/tile.hip:2: 'rocwmma/rocwmma.hpp' is not among the HIP headers",
            id="header",
        ),
        pytest.param(
            "#include <hip/hip_runtime.h>\nvoid f() { hipTextureObject_t p; (void)p; }\n",
            "src/tile.hip:2: not among the HIP names that this build compiles against: 'hipTexture",
            id="type",
        ),
        pytest.param(
            "#include <hip/hip_runtime.h>\nvoid f() { hipGraphLaunch(nullptr, nullptr); }\n",
            "src/tile.hip:2: not among the HIP names that this build compiles against: 'hipGraphL",
            id="function",
        ),
    ],
)
def test_failure_is_explained_when_source_wants_more_of_hip(
    tmp_path: Path, source: str, problem: str
) -> None:
    made = write_project(tmp_path, source=source)
    assert made.configure().returncode == 0
    done = made.compile()
    assert done.returncode != 0
    error = explain_failure(done.stdout + done.stderr)
    assert problem in str(error)
    assert "hint: a ROCm SDK brings it: set ROCM_PATH" in str(error)


def test_compiling_fails_when_there_is_a_warning(tmp_path: Path) -> None:
    made = write_project(tmp_path, source="static int unused() { return 1; }\n")
    assert made.configure().returncode == 0
    done = made.compile()
    assert done.returncode != 0
    assert "-Werror,-Wunused-function" in done.stdout + done.stderr
