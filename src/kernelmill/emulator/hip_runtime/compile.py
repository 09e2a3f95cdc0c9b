"""Build a native library on first use, and keep it: same sources and compiler, same file."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from kernelmill.emulator.hip_runtime.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 600
C_NAMES: Final = ("cc", "gcc", "clang")
CXX_NAMES: Final = ("c++", "g++", "clang++")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one library is made."""

    name: str
    """Its file name."""
    sources: Mapping[str, str]
    """File name -> text; all are written to one folder."""
    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    """What follows the compiler, without ``-o``; paths relative to the sources."""
    depends: str = ""
    """What else decides the result, such as the version of the headers."""

    @property
    def key(self) -> str:
        """Return a name for everything that decides the result."""
        # A compiler that is updated keeps its path.
        program = Path(shutil.which(self.compiler[0]) or self.compiler[0])
        stat = program.stat()
        parts = (
            self.name, *(f"{name}\0{self.sources[name]}" for name in sorted(self.sources)),
            *self.compiler, *self.flags, self.depends, f"{stat.st_size} {stat.st_mtime_ns}",
        )  # fmt: skip
        return hashlib.sha256("\0\0".join(parts).encode()).hexdigest()[:20]


def find_c_compiler(path: str) -> tuple[str, ...]:
    """Return a C compiler command: the host's own, else zig's.

    Raises:
        CompileError: there is neither.
    """
    for name in C_NAMES:
        if found := shutil.which(name, path=path):
            return (found,)
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec and spec.submodule_search_locations) or ():
        return (str(Path(folder) / "zig"), "cc")
    raise CompileError("no C compiler on PATH", hint="apt-get install gcc, or pip install ziglang")


def find_cxx_compiler(path: str) -> tuple[str, ...]:
    """Return a C++ compiler command whose standard library is the one that torch uses.

    Raises:
        CompileError: there is none; zig's brings another library.
    """
    for name in CXX_NAMES:
        if found := shutil.which(name, path=path):
            return (found,)
    raise CompileError(
        "no C++ compiler on PATH: torch's extensions need one", hint="apt-get install g++"
    )


def ensure_library(recipe: Recipe, cache: Path, *, announce: str = "") -> Path:
    """Return the library's path; compile it first, if ``cache`` does not have it.

    Args:
        recipe: how to make it.
        cache: holds one folder for each key.
        announce: logged as a warning before a compilation that takes long.

    Raises:
        CompileError: the compiler fails, or ``cache`` cannot be written.
    """
    folder = cache / recipe.key
    library = folder / recipe.name
    if library.exists():
        return library
    from filelock import FileLock  # noqa: PLC0415 - costs 50 ms, and every process starts here

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            if not library.exists():
                if announce:
                    log.warning(announce)
                _build(recipe, folder, library)
    except OSError as error:
        raise CompileError(f"the cache cannot be written: {error}", where=str(cache)) from error
    return library


def _build(recipe: Recipe, folder: Path, library: Path) -> None:
    with TemporaryDirectory(dir=folder, prefix=".build-") as name:
        work = Path(name)
        for source, text in recipe.sources.items():
            (work / source).write_text(text, "utf-8")
        _run([*recipe.compiler, *recipe.flags, "-o", recipe.name], work)
        (work / recipe.name).replace(library)


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"{command[0]} does not run: {error}") from error
    if done.returncode:
        raise CompileError(
            f"the compiler fails: {done.stderr.strip()[-2000:]}", where=" ".join(command)
        )
