"""The checks, on what a compiler made: L10, L11 with gcc, F6 with the HIP recipe; Y14 loaded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Protocol

import pytest
from tests.integration.test_hip_cross import write_project
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.binary.code_object import read_code_objects
from kernelmill.builder.check.abi import AbiFloor, judge_binary
from kernelmill.builder.check.ops import check_operators
from kernelmill.builder.review import Reviewed, review_operators
from kernelmill.builder.toolchain.operators import load_operators
from kernelmill.spec.variant import parse_variant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.variant import Variant


class Compile(Protocol):
    def __call__(self, source: str, *flags: str) -> bytes: ...


OLD_STAT = """
__asm__(".symver memcpy, memcpy@GLIBC_2.2.5");
extern void *memcpy(void *, const void *, unsigned long);
void *copy(void *to, void *from, unsigned long n) { return memcpy(to, from, n); }
"""
NEW_DLOPEN = """
extern void *dlopen(const char *, int);
void *open_runtime(void) { return dlopen("libamdhip64.so", 1); }
"""
NOBODYS = "extern int arc4random_of_a_stub(void); int f(void) { return arc4random_of_a_stub(); }"
PYTHON = """
extern void *PyModule_AddType(void *, void *);
void *f(void) { return PyModule_AddType(0, 0); }
"""
STABLE = """
extern int torch_exception_get_what(void *); extern int aoti_torch_get_dim(void *, void *);
int f(void) { return torch_exception_get_what(0) + aoti_torch_get_dim(0, 0); }
"""


@pytest.fixture(scope="module")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("no gcc")

    def compile_source(source: str, *flags: str) -> bytes:
        folder = tmp_path_factory.mktemp("c")
        (folder / "k.c").write_text(source, encoding="utf-8")
        command = [gcc, "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", "k.so", "k.c", *flags]
        subprocess.run(command, cwd=folder, check=True, timeout=60)
        return (folder / "k.so").read_bytes()

    return compile_source


def judge(
    data: bytes, *, policy: str = "manylinux_2_28", variant: Variant | None = None
) -> list[str]:
    verdict = judge_binary(data, where="k.so", floor=AbiFloor(manylinux=policy), variant=variant)
    return [finding.problem for finding in verdict.findings]


def test_l11_old_symbols_run_on_old_systems(compile_c: Compile) -> None:
    assert judge(compile_c(OLD_STAT)) == []
    assert judge(compile_c(OLD_STAT), policy="manylinux_2_12") == []


def test_l10_l11_symbols_of_this_system_are_above_the_floor(compile_c: Compile) -> None:
    data = compile_c(NEW_DLOPEN)
    newer = "GLIBC_2.34 is first in manylinux_2_34, and manylinux_2_28 is wanted: dlopen"
    unversioned = "the extension opens libamdhip64.so by a name without a version"
    assert judge(data) == [newer, unversioned]
    assert judge(data, policy="manylinux_2_34") == [unversioned]


def test_l10_search_path_to_an_sdk_is_found(compile_c: Compile) -> None:
    data = compile_c(OLD_STAT, "-Wl,-rpath,/opt/rocm/lib:$ORIGIN/lib")
    assert judge(data) == ["the extension has the library search path '/opt/rocm/lib'"]


def test_symbols_that_a_linker_left_behind_are_found(compile_c: Compile) -> None:
    assert judge(compile_c(NOBODYS)) == ["nobody is known to bring arc4random_of_a_stub"]


def test_python_and_torch_symbols_are_judged_by_their_age(compile_c: Compile) -> None:
    assert judge(compile_c(PYTHON)) == [
        "PyModule_AddType is in Python's stable ABI since 3.10, and 3.9 is wanted"
    ]
    older = parse_variant("torch-stable-abi29-cpu-x86_64-linux")
    newer = parse_variant("torch-stable-abi213-cpu-x86_64-linux")
    assert judge(compile_c(STABLE), variant=newer) == []
    assert judge(compile_c(STABLE), variant=older) == [
        "torch_exception_get_what is in PyTorch's stable ABI since 2.13, and 2.9 is wanted"
    ]


FORMATS = """
#include <hip/hip_runtime.h>
#if defined(__gfx942__)
#define FORMAT 240
#elif defined(__gfx950__)
#define FORMAT 448
#else
#define FORMAT 0
#endif
extern "C" __global__ void largest(int* out) { *out = FORMAT; }
extern "C" void launch_fp8_tile(void*, void*, void*, void*) {}
"""


def test_f6_format_is_decided_for_each_architecture(tmp_path: Path) -> None:
    project = write_project(tmp_path, source=FORMATS, archs="gfx942 gfx950")
    project.make()
    code = {it.arch: it.code(it.kernels[0]) for it in read_code_objects(project.library)}
    assert sorted(code) == ["gfx942", "gfx950"]
    for arch, format_of_arch, other in (("gfx942", 240, 448), ("gfx950", 448, 240)):
        assert format_of_arch.to_bytes(4, "little") in code[arch]
        assert other.to_bytes(4, "little") not in code[arch]


OPERATORS = """
import torch
library = torch.library.Library("toy_id", "DEF")
library.define("no_fake(Tensor x) -> Tensor")
library.define("secret(Tensor out, Tensor x) -> ()")
library.define("correct(Tensor! out, Tensor x) -> Tensor")
torch.library.register_fake("toy_id::correct", lambda out, x: x, lib=library)
library.define("writes(Tensor! out, Tensor x) -> ()")
library.define("meta(Tensor x) -> Tensor")
library.impl("meta", lambda x: x, "Meta")
"""


def test_y14_operators_of_a_build_are_checked_where_it_is_loaded(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / "torch213-cpu-x86_64-linux"
    write_files(folder, kernel_files(module_id="toy_id") | {"__init__.py": OPERATORS.encode()})
    operators = load_operators(folder, unique_id="toy_id", python=sys.executable)
    assert sorted(it.name for it in operators if it.has_fake) == ["correct", "meta"]
    assert sorted(it.problem for it in check_operators(operators)) == [
        "operator no_fake: it has no fake implementation, so torch.compile cannot trace it",
        "operator secret: it returns nothing and declares no argument as written",
    ]


def test_variants_that_cannot_be_loaded_are_wrong_only_on_their_own_machine(tmp_path: Path) -> None:
    for name in ("torch213-cpu-x86_64-linux", "torch213-rocm71-x86_64-linux"):
        write_files(tmp_path / name, kernel_files(module_id="toy_id"))
    python = str(tmp_path / "no-python")
    cpu = Reviewed(folder=tmp_path / "torch213-cpu-x86_64-linux", findings=())
    (finding,) = review_operators(cpu, python=python).findings
    assert finding.problem.startswith("cannot be loaded: [Errno 2] No such file")
    rocm = Reviewed(folder=tmp_path / "torch213-rocm71-x86_64-linux", findings=())
    reviewed = review_operators(rocm, python=python)
    assert reviewed.findings == ()
    assert reviewed.remarks[0].startswith("operators not checked: cannot be loaded: [Errno 2]")
