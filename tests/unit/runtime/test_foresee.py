"""What a compiled kernel needs is compared with the host before its library is opened (L11)."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.runtime import probe
from kernelmill.runtime.dlopen import foresee, read_complaint
from kernelmill.runtime.errors import LoadFailed
from kernelmill.runtime.load import get_loaded_kernels, load_variant
from kernelmill.runtime.mapped import read_runtimes, second_runtimes

if TYPE_CHECKING:
    from pathlib import Path

AARCH64 = 183


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A real library that needs something of glibc."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("cc is not installed: it comes with the distribution package gcc")
    folder = tmp_path_factory.mktemp("library")
    (folder / "k.c").write_text('#include <stdio.h>\nvoid say(void) { puts("x"); }\n')
    command = [compiler, "-shared", "-fPIC", "-o", "k.so", "k.c"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return (folder / "k.so").read_bytes()


def for_other_cpu(library: bytes) -> bytes:
    return library[:18] + struct.pack("<H", AARCH64) + library[20:]


def test_library_for_this_machine_meets_no_complaint(library: bytes) -> None:
    assert foresee(library, cpu=probe.probe_cpu(), glibc=probe.probe_glibc()) == ""


@pytest.mark.parametrize(
    ("glibc", "is_refused"),
    [
        pytest.param((2, 1), True, id="older"),
        pytest.param((99, 0), False, id="newer"),
        pytest.param(None, False, id="unknown"),
    ],
)
def test_newer_glibc_is_named(
    library: bytes, glibc: tuple[int, int] | None, is_refused: bool
) -> None:
    found = foresee(library, cpu="x86_64", glibc=glibc)
    assert bool(found) is is_refused
    if is_refused:
        assert re.fullmatch(r"version `GLIBC_2\.\d+(\.\d+)?' not found", found)
        problem = read_complaint(found)
        assert problem is not None
        assert "and this system is older" in problem[0]


def test_other_cpu_is_named(library: bytes) -> None:
    found = foresee(for_other_cpu(library), cpu="x86_64", glibc=(2, 36))
    assert found == "compiled for aarch64, and this is x86_64"
    assert foresee(library, cpu="riscv64", glibc=None) == "", "no opinion on what it does not know"


def test_damage_is_left_to_the_linker(library: bytes) -> None:
    assert foresee(library[:100], cpu="x86_64", glibc=(2, 1)) == ""
    assert foresee(b"text", cpu="x86_64", glibc=(2, 1)) == "is no ELF file"


@pytest.mark.skipif(sys.platform != "linux", reason="the linker of Linux")
@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        pytest.param(for_other_cpu, "it was compiled for aarch64, and this machine is", id="cpu"),
        pytest.param(lambda _: b"\x7fELF", "it holds a library that is damaged", id="cut-off"),
        pytest.param(lambda _: b"text", r"damaged, .* \(is no ELF file\)", id="text"),
    ],
)
def test_kernel_says_what_it_was_built_for_and_what_is_here(
    tmp_path: Path, library: bytes, damage: object, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelmill.runtime.load._environment", lambda: "torch 2.13, x86_64-linux")
    assert callable(damage)
    binaries = {"part.abi3.so": damage(library)}
    sources = {"__init__.py": "from . import part\n"}
    folder = write_files(tmp_path / "torch-cpu", kernel_files(sources=sources, binaries=binaries))
    before = set(sys.modules)
    with pytest.raises(LoadFailed, match=problem) as caught:
        load_variant(folder, root=tmp_path)
    assert "; built for torch-cpu, you have torch 2.13, x86_64-linux" in str(caught.value)
    assert caught.value.where == str(folder / "part.abi3.so")
    assert get_loaded_kernels() == []
    new = set(sys.modules) - before
    assert {name for name in new if name.startswith("_toy")} == set()


MAPS = """\
7f00-7f01 r-xp 00000000 08:01 11 /usr/lib/python3/torch/lib/libamdhip64.so
7f01-7f02 r--p 00000000 08:01 11 /usr/lib/python3/torch/lib/libamdhip64.so
7f02-7f03 r-xp 00000000 08:01 12 /usr/lib/libc.so.6
7f03-7f04 r-xp 00000000 08:01 13 /usr/lib/python3/torch/lib/libcudart-9335f6a2.so.12
7f04-7f05 rw-p 00000000 00:00 0 [heap]
"""


def test_second_runtime_is_named(tmp_path: Path) -> None:
    """L10: the HIP runtime of torch and that of the system are two."""
    (tmp_path / "before").write_text(MAPS)
    second = "7f05-7f06 r-xp 00000000 08:01 14 /opt/rocm/lib/libamdhip64.so.7.1\n"
    (tmp_path / "after").write_text(MAPS + second)
    before, after = (read_runtimes(tmp_path / name) for name in ("before", "after"))
    assert before["libcudart"] == {"/usr/lib/python3/torch/lib/libcudart-9335f6a2.so.12"}
    assert second_runtimes(before, after) == (
        "/opt/rocm/lib/libamdhip64.so.7.1 beside /usr/lib/python3/torch/lib/libamdhip64.so",
    )
    assert second_runtimes(before, before) == ()
    assert second_runtimes({}, after) == (), "the first one is nobody's second"
    assert read_runtimes(tmp_path / "nowhere") == {}
