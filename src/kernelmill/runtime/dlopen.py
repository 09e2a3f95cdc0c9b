"""What the dynamic linker's complaints mean for somebody who only wanted to load a kernel.

``foresee`` makes two of them before the linker is asked: a library for another processor it calls
missing, and one for a newer system it refuses halfway through a kernel's import.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import Final

from kernelmill.binary import elf as elf_format
from kernelmill.binary.errors import BinaryError
from kernelmill.binary.symbols import highest_versions, read_needed_versions

MISSING_SYMBOL: Final = re.compile(r"undefined symbol: (?P<symbol>\w+)")
MISSING_LIBRARY: Final = re.compile(
    r"(?P<library>lib[\w+-]+\.so[.\d]*): cannot open shared object file"
)
OLD_LIBRARY: Final = re.compile(r"version `(?P<version>\w+_[\d.]+)' not found")
OTHER_CPU: Final = re.compile(r"compiled for (?P<built>\S+), and this is (?P<own>\S+)$")
DAMAGED: Final = re.compile(
    r"(invalid ELF header|file too short|wrong ELF class: \w+|is no ELF file)"
)
TORCH_SYMBOL: Final = re.compile(r"N?\d*(c10|at|torch|caffe2)\d|aoti_torch|torch_")

MACHINES: Final = {"x86_64": 62, "aarch64": 183}
"""Processor -> its number in an ELF header."""

RUNTIMES: Final = {
    "libamdhip64": "this is a ROCm build, and no ROCm runtime is here: install a ROCm PyTorch",
    "libtorch_hip": "this is a ROCm build: install a ROCm PyTorch",
    "libc10_hip": "this is a ROCm build: install a ROCm PyTorch",
    "libcudart": "this is a CUDA build, and no CUDA runtime is here: install a CUDA PyTorch",
    "libtorch_cuda": "this is a CUDA build: install a CUDA PyTorch",
    "libc10_cuda": "this is a CUDA build: install a CUDA PyTorch",
}
"""Library -> what its absence means."""


def read_complaint(message: str) -> tuple[str, str] | None:
    """Return (problem, hint) for a message of the dynamic linker; None for any other text."""
    for pattern, explain in COMPLAINTS:
        if match := pattern.search(message):
            return explain(match)
    return None


def _missing_symbol(match: re.Match[str]) -> tuple[str, str]:
    symbol = match["symbol"]
    if TORCH_SYMBOL.search(symbol):
        return (
            f"needs the symbol {symbol}, which the installed PyTorch does not have",
            "load a build for the installed PyTorch, or install the PyTorch it was built for",
        )
    return f"needs the symbol {symbol}, which no loaded library has", "rebuild the kernel"


def _missing_library(match: re.Match[str]) -> tuple[str, str]:
    library = match["library"]
    hint = RUNTIMES.get(library.partition(".so")[0], f"install what provides {library}")
    return f"needs {library}, which is not on this machine", hint


def _old_library(match: re.Match[str]) -> tuple[str, str]:
    return (
        f"needs {match['version']}, and this system is older",
        "use a newer system, or a build made for manylinux_2_28",
    )


def _other_cpu(match: re.Match[str]) -> tuple[str, str]:
    return (
        f"was compiled for {match['built']}, and this machine is {match['own']}",
        "use a build for this machine; `kernels explain` lists them",
    )


def _damaged(match: re.Match[str]) -> tuple[str, str]:
    return (
        f"holds a library that is damaged, or for another kind of system ({match[0]})",
        "remove the folder and load the kernel again",
    )


COMPLAINTS: Final = (
    (MISSING_SYMBOL, _missing_symbol),
    (MISSING_LIBRARY, _missing_library),
    (OTHER_CPU, _other_cpu),
    (DAMAGED, _damaged),
    (OLD_LIBRARY, _old_library),
)


def foresee_file(path: str, *, cpu: str, glibc: tuple[int, int] | None) -> str:
    """Return what ``foresee`` does of a file, without reading more of it than that needs."""
    with Path(path).open("rb") as file:
        if not file.read(1):
            return "file too short"
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            # Here a map is as good as bytes, whose slices it gives.
            return foresee(content, cpu=cpu, glibc=glibc)  # type: ignore[arg-type]


def foresee(content: bytes, *, cpu: str, glibc: tuple[int, int] | None) -> str:
    """Return the complaint that a library is bound to meet here; empty when none is seen.

    Args:
        content: the library's file.
        cpu: this machine's, as variants write it.
        glibc: this machine's; None where there is another C library, or none is known.
    """
    if not elf_format.is_elf(content):
        return "is no ELF file"
    try:
        elf = elf_format.parse(content)
        versions = highest_versions(read_needed_versions(elf))
    except BinaryError:
        return ""  # what it is worth, the linker says
    if cpu in MACHINES and elf.machine != MACHINES[cpu]:
        built = {number: name for name, number in MACHINES.items()}
        return f"compiled for {built.get(elf.machine, f'machine {elf.machine}')}, and this is {cpu}"
    wanted = versions.get("GLIBC", ())
    if glibc and wanted > glibc:
        return f"version `GLIBC_{'.'.join(map(str, wanted))}' not found"
    return ""
