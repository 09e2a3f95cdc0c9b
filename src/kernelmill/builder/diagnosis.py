"""Everything that takes part in builds here, what was tried for each, and which backends work."""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cuda.doctor import NAME, cuda_program
from kernelmill.builder.cuda.probe import probe_cuda
from kernelmill.builder.errors import ToolchainError
from kernelmill.builder.hip.probe import probe_hip_compilers
from kernelmill.builder.jobs import job_count
from kernelmill.builder.sdk.store import open_store
from kernelmill.builder.toolchain.host import probe_capacity
from kernelmill.builder.toolchain.programs import (
    Candidate,
    Program,
    probe_ccache,
    probe_cmake,
    probe_cxx,
    probe_ninja,
)
from kernelmill.builder.toolchain.torch import probe_torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelmill.builder.hip.toolchain import Trial

OPTIONAL = frozenset({"ccache", "compiler for AMD GPUs", NAME})
"""Without these the CPU can still be built for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The tools, in the order in which a build uses them."""

    tools: tuple[Program, ...]
    jobs: int

    @property
    def missing(self) -> tuple[str, ...]:
        """The tools without which nothing can be built."""
        return tuple(it.name for it in self.tools if it.chosen is None and it.name not in OPTIONAL)


def diagnose(env: Mapping[str, str], *, python: str) -> Diagnosis:
    """Look for every tool; a missing one is a result, not an error."""
    trials = probe_hip_compilers(environ=env, package_folders=sys.path)
    cuda = probe_cuda(env, packages=sys.path, store=open_store(env))
    cxx = probe_cxx(env)
    return Diagnosis(
        tools=(
            *_torch(python),
            cxx,
            probe_cmake(),
            probe_ninja(),
            hip_program(trials),
            cuda_program(cuda, cxx),
            probe_ccache(),
        ),
        jobs=job_count(probe_capacity(env)),
    )


def hip_program(trials: Sequence[Trial]) -> Program:
    """Return the trials of HIP compilers in the form of the other tools."""
    candidates = tuple(
        Candidate(
            source=trial.place.label,
            path=trial.place.path or "",
            version=trial.toolchain.summary if trial.toolchain else "",
            problem=trial.objection,
        )
        for trial in trials
    )
    return Program(name="compiler for AMD GPUs", candidates=candidates)


def _torch(python: str) -> tuple[Program, Program]:
    try:
        torch = probe_torch(python)
    except ToolchainError as error:
        missing = Candidate(source="interpreter", path=python, problem=error.problem)
        return Program(name="torch", candidates=(missing,)), _headers(
            sysconfig.get_paths()["include"]
        )
    builds = [word for word in (torch.cuda and "CUDA", torch.hip and "ROCm") if word]
    found = Candidate(
        source="interpreter",
        path=torch.lib,
        version=f"{torch.release} ({' and '.join(builds) or 'CPU'} build)",
    )
    return Program(name="torch", candidates=(found,)), _headers(torch.python_include)


def _headers(folder: str) -> Program:
    has_them = (Path(folder) / "Python.h").is_file()
    problem = "" if has_them else "no Python.h: install Python's development files"
    candidate = Candidate(source="interpreter", path=folder, problem=problem)
    return Program(name="Python headers", candidates=(candidate,))
