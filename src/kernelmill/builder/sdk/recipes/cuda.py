"""CUDA toolkits to compile with, from NVIDIA's wheels: compiler, headers, a stub of the runtime.

From CUDA 13 on the wheels hold nvcc. Those of CUDA 12 hold an assembler alone: the tree is then one
that clang compiles with (``--cuda-path``). What puts code for several devices together comes from
CUDA 13, behind a script that speaks as clang does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.binary import elf
from kernelmill.binary.errors import BinaryError
from kernelmill.binary.symbols import read_exports
from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.pins import known_files, known_inputs
from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.builder.sdk.stub import AARCH64, X86_64, StubSymbol, write_stub
from kernelmill.builder.sdk.wheels import open_wheel, unpack
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

KIND = "cuda"
SUMMARY = "a CUDA toolkit to compile with, from NVIDIA's wheels"

_MACHINES: Final = {"x86_64-linux": X86_64, "aarch64-linux": AARCH64}
_FILE: Final = re.compile(r"nvidia/[^/]+/(?P<path>(?:bin|include|nvvm)/.+)")
_LEFT_OUT: Final = re.compile(r"(?:.*/)?__init__\.py|nvvm/lib64/.*|include/nvvm\.h")
_PROGRAMS: Final = re.compile(r"(?:nvvm/)?bin/[^/.]+")
_LICENSE: Final = re.compile(r"(?P<name>[^/]+)-[^-/]+\.dist-info/(?:licenses/)?License\.txt")
_RUNTIME: Final = re.compile(r"nvidia/[^/]+/lib/(?P<name>libcudart\.so\.\d+)")
_COMPILERS: Final = ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc")
"""The package whose version is the toolkit's: the first that is among a toolkit's files."""
_FATBINARY: Final = "nvidia/cu13/bin/fatbinary"
_SHIM: Final = """\
#!/bin/sh
# clang says --image=profile=sm_90a,file=F, or compute_90 for PTX; CUDA 13 wants it in other words.
# Nothing is compressed: drivers for CUDA 12 may not know today's compression.
here=$(dirname "$0")
for argument do
  shift
  case $argument in
    --image=profile=sm_*) argument=--image3=kind=elf,sm=${argument#*profile=sm_} ;;
    --image=profile=compute_*) argument=--image3=kind=ptx,sm=${argument#*profile=compute_} ;;
    --cuda) continue ;;
  esac
  set -- "$@" "$argument"
done
exec "$here/fatbinary-13" --compress=false "$@"
"""
_CURAND: Final = "include/curand_mtgp32_kernel.h"
_CURAND_TEXT: Final = """\
// clang includes this header of cuRAND in every file, for the names in it. None of them is needed.
#pragma once
"""


def wanted(version: str, platform: str) -> Sequence[Wanted]:
    """Return the wheels of a toolkit; ``13.0`` means the known release of 13.0."""
    return wanted_wheels(KIND, version, platform)


def wanted_wheels(kind: str, version: str, platform: str) -> Sequence[Wanted]:
    """Return the wheels that ``data/sdks.toml`` has for an SDK.

    Raises:
        InputError: it has none.
    """
    pins = known_inputs().get(kind, {})
    series = next((it for it in pins if f"{version}.".startswith(f"{it}.")), "")
    if not series or platform not in _MACHINES:
        known = ", ".join(f"{kind}-{it}" for it in pins)
        raise InputError(f"no {kind}-{version} for {platform}", hint=f"there are {known}")
    return [
        Wanted(name=it.name, version=it.version, known=known_files(kind, series, it.name))
        for it in pins[series]
    ]


def make(files: Mapping[str, Path], platform: str, tree: Path, note: Callable[[str], None]) -> Made:
    """Unpack programs and headers, and write a stub of the runtime."""
    is_for_clang = _COMPILERS[0] in files
    compiler = files[next(it for it in _COMPILERS if it in files)]
    for name, path in files.items():
        if is_for_clang and name == _COMPILERS[1]:
            _add_fatbinary(path, tree)
            continue
        note(f"unpacking {path.name}")
        with open_wheel(path) as wheel:
            unpack(wheel, tree, place=_place)
            for entry in wheel.namelist():
                if runtime := _RUNTIME.fullmatch(entry):
                    _write_runtime(wheel.read(entry), runtime["name"], tree, _MACHINES[platform])
    for program in _programs(tree):
        program.chmod(0o755)
    if is_for_clang:
        (tree / _CURAND).write_text(_CURAND_TEXT, encoding="ascii")
    version = compiler.name.split("-")[1]
    release = ".".join(version.split(".")[:2])
    return Made(
        version=version, facts={"cuda": release, "compiler": "clang" if is_for_clang else "nvcc"}
    )


def _place(path: str) -> str | None:
    if license_file := _LICENSE.fullmatch(path):
        return f"licenses/{license_file['name']}.txt"
    found = _FILE.fullmatch(path)
    return found["path"] if found and not _LEFT_OUT.fullmatch(found["path"]) else None


def _programs(tree: Path) -> Iterator[Path]:
    for path in (*tree.glob("bin/*"), *tree.glob("nvvm/bin/*")):
        if path.is_file() and _PROGRAMS.fullmatch(path.relative_to(tree).as_posix()):
            yield path


def _add_fatbinary(wheel_path: Path, tree: Path) -> None:
    (tree / "bin").mkdir(parents=True, exist_ok=True)
    with open_wheel(wheel_path) as wheel:
        (tree / "bin/fatbinary-13").write_bytes(wheel.read(_FATBINARY))
    (tree / "bin/fatbinary").write_text(_SHIM, encoding="ascii")


def _write_runtime(content: bytes, name: str, tree: Path, machine: int) -> None:
    try:
        exports = read_exports(elf.parse(content, where=name))
    except BinaryError as error:
        raise SdkError(error.problem, where=error.where, hint="is the wheel damaged?") from error
    symbols = (
        StubSymbol(it.name, it.version, it.kind, it.is_weak, it.size, it.is_default)
        for it in exports
    )
    (tree / "lib").mkdir(parents=True, exist_ok=True)
    (tree / "lib" / name).write_bytes(write_stub(name, symbols, machine=machine))
