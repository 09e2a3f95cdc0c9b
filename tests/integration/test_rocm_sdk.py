"""Builds with a ROCm SDK: one made up of our headers, a stub of the runtime and zig's clang.

No real SDK was at hand: this shows which parts of one are used, not that AMD's work.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.test_hip_cross import SOURCE, Project, run, write_project

from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.disassembly import disassemble_kernel
from kernelmill.builder.hip.probe import probe_hip_compilers
from kernelmill.builder.hip.toolchain import choose

if TYPE_CHECKING:
    from kernelmill.builder.hip.toolchain import HipToolchain

pytest.importorskip("ziglang")
pytest.importorskip("cmake")
# clang of an SDK knows where its own parts are; this one has to be told.
COMPILER = """\
#!/bin/sh
echo "$@" >> "{log}"
case "$*" in *--version*) echo "AMD clang version 22.0.0"; exit 0 ;; esac
exec '{zig}' clang --target=x86_64-linux-gnu -B'{bin}' -nostdinc -isystem '{headers}' \\
  -nogpulib -nogpuinc "$@"
"""
VERSION = "#define HIP_VERSION_MAJOR 7\n#define HIP_VERSION_MINOR 2\n"


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rocm")
    spec = importlib.util.find_spec("ziglang")
    assert spec is not None
    zig = Path(str((spec.submodule_search_locations or [""])[0])) / "zig"
    lld, clang = folder / "private/lld", folder / "lib/llvm/bin/clang++"
    program = COMPILER.format(
        zig=zig, bin=lld.parent, headers=zig.parent / "lib/include", log=folder / "log"
    )
    linker = f"#!/bin/sh\nshift 2\nexec '{zig}' ld.lld \"$@\"\n"
    for path, text in ((lld, linker), (clang, program)):
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755)
    stand_in = write_project(folder / "stand-in")
    shutil.copytree(stand_in.folder / "cmake/hip-include", folder / "include")
    runtime = (folder / "include/hip/hip_runtime_api.h").read_text("utf-8")
    own = "#define MADE_UP_SDK 1\n#include <hip/hip_version.h>\n" + runtime
    (folder / "include/hip/hip_runtime_api.h").write_text(own, "utf-8")
    (folder / "include/hip/hip_version.h").write_text(VERSION, "utf-8")
    (folder / "lib/libamdhip64.so").touch()
    return folder


def found(sdk: Path) -> HipToolchain:
    trials = probe_hip_compilers(
        environ={"PATH": "/usr/bin:/bin", "ROCM_PATH": str(sdk)}, opt_folder=sdk / "none"
    )
    chosen = choose(trials)
    assert chosen is not None
    return chosen


def test_sdk_is_chosen_with_its_version(sdk: Path) -> None:
    toolchain = found(sdk)
    assert (toolchain.rocm_root, toolchain.rocm_version) == (str(sdk), (7, 2))
    assert "gfx942" in toolchain.archs
    assert toolchain.summary.endswith("ROCm 7.2, with its headers and runtime")


def test_build_uses_the_headers_and_the_runtime_of_the_sdk(sdk: Path, tmp_path: Path) -> None:
    # The runtime of a real SDK: here, the stub that a cross build would make for itself.
    stub = tmp_path / "stub.cpp"
    stub.write_text('extern "C" {\n' + "".join(f"int {it}() {{ return 100; }}\n" for it in (
        "__hipPushCallConfiguration", "__hipPopCallConfiguration", "__hipRegisterFatBinary",
        "__hipRegisterFunction", "__hipUnregisterFatBinary", "hipLaunchKernel", "hipGetLastError",
    )) + "}\n")  # fmt: skip
    library = sdk / "lib/libamdhip64.so"
    done = run(
        ["g++", "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libamdhip64.so.7", str(stub),
         "-o", str(library)], cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    guard = "#include <hip/hip_runtime.h>\n#if !defined(MADE_UP_SDK)\n#error ours\n#endif\n"
    source = f'#include "tile.h"\n{guard}{SOURCE.read_text("utf-8")}'
    made: Project = write_project(tmp_path / "project", source=source)
    made.make(
        f"-DHIP_CROSS_COMPILER={found(sdk).command[0]}",
        f"-DHIP_CROSS_ROCM_ROOT={sdk}",
        "-DHIP_CROSS_ROCM_VERSION=7.2",
    )
    assert [code.target for code in read_code_objects(made.library)] == ["gfx942"]
    linkage = made.linkage()
    assert "libamdhip64.so.7" in linkage.needed
    assert (linkage.runpath, linkage.rpath) == ((), ())
    assert not list(made.build.rglob("libamdhip64.so*")), "a stub was made beside the SDK's runtime"
    assert f"--rocm-path={sdk}" in (sdk / "log").read_text("utf-8")


def test_d5_exactly_the_requested_architectures_are_compiled(tmp_path: Path) -> None:
    made = write_project(tmp_path, archs="gfx90a", source=F6)
    made.make()
    assert [code.target for code in read_code_objects(made.library)] == ["gfx90a"]


F6 = """\
#include <hip/hip_runtime.h>
#if defined(__gfx942__)
#define LARGEST 240
#elif defined(__gfx950__)
#define LARGEST 448
#else
#define LARGEST 0
#endif
extern "C" __global__ void fp8_tile(int* out) { out[threadIdx.x] = LARGEST; }
extern "C" void launch_fp8_tile(int* out) { fp8_tile<<<1, 64>>>(out); }
"""


@pytest.mark.parametrize(
    ("archs", "largest"),
    [
        pytest.param("gfx942", {"gfx942": 240}, id="one"),
        pytest.param("gfx942 gfx950", {"gfx942": 240, "gfx950": 448}, id="both"),
    ],
)
def test_f6_each_code_object_has_the_format_of_its_own_architecture(
    tmp_path: Path, archs: str, largest: dict[str, int]
) -> None:
    made = write_project(tmp_path, archs=archs, source=F6)
    made.make()
    codes = {code.target: code for code in read_code_objects(made.library)}
    assert set(codes) == set(largest)
    for arch, value in largest.items():
        (kernel,) = codes[arch].kernels
        text = "\n".join(str(it) for it in disassemble_kernel(codes[arch], kernel))
        assert f"{value:#x}" in text, text
        assert all(f"{other:#x}" not in text for other in (240, 448) if other != value)
