"""Build the stub of the HIP runtime as a library, where no CMake project does it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from kernelmill.builder.hip.errors import HipToolchainError
from kernelmill.builder.hip.stub import (
    SONAMES,
    read_stub_symbols,
    render_stub_source,
    render_version_script,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_S: Final = 120
CXX_NAMES: Final = ("g++", "c++", "clang++")


def find_cxx_compiler(path_entries: Sequence[str], *, zig: str | None) -> tuple[str, ...]:
    """Return a C++ compiler command for this machine: the host's own, else zig's.

    Raises:
        HipToolchainError: there is neither.
    """
    path = ":".join(entry for entry in path_entries if entry)
    for name in CXX_NAMES if path else ():
        if found := shutil.which(name, path=path):
            return (found,)
    if zig:
        return (zig, "c++")
    raise HipToolchainError(
        "no C++ compiler on PATH", hint="pip install 'kernelmill[builder]' (brings ziglang)"
    )


def ensure_stub_library(folder: Path, *, rocm_major: int, compiler: Sequence[str]) -> Path:
    """Build ``libamdhip64.so.N`` in ``folder`` unless it is there, and return its path.

    Raises:
        HipToolchainError: the compiler fails, or ``rocm_major`` is not 6 or 7.
    """
    if rocm_major not in SONAMES:
        raise HipToolchainError(
            f"ROCm {rocm_major} is not known: only {', '.join(map(str, SONAMES))}"
        )
    soname = SONAMES[rocm_major]
    library = folder / soname
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    symbols = read_stub_symbols()
    with TemporaryDirectory(dir=folder, prefix=".stub-") as name:
        work = Path(name)
        (work / "stub.cpp").write_text(render_stub_source(symbols), "utf-8")
        (work / "stub.map").write_text(render_version_script(symbols), "utf-8")
        _compile(work, soname, compiler)
        (work / soname).replace(library)
    return library


def _compile(work: Path, soname: str, compiler: Sequence[str]) -> None:
    command = [
        *compiler, "-shared", "-fPIC", "-O2", "-nostdlib", f"-Wl,-soname,{soname}",
        "-Wl,--version-script=stub.map", "-o", soname, "stub.cpp",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=work, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HipToolchainError(f"{compiler[0]} does not run: {error}") from error
    if done.returncode:
        raise HipToolchainError(
            f"the stub of the HIP runtime does not compile: {done.stderr.strip()}",
            where=" ".join(command),
        )
