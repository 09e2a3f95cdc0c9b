"""Everything that takes part in builds here, what was tried for each, and which backends work."""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cuda.doctor import cuda_program
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
    from collections.abc import Callable, Mapping, Sequence

    from kernelmill.builder.hip.toolchain import Trial
    from kernelmill.builder.jobs import Capacity
    from kernelmill.builder.sdk.store import Sdk, Store


def explain_rocm(env: Mapping[str, str], cxx: Program) -> Program:  # noqa: ARG001 - as for others
    """Return every place of a compiler for AMD GPUs, in the order in which they are tried."""
    return hip_program(probe_hip_compilers(environ=env, package_folders=sys.path))


def explain_cuda(env: Mapping[str, str], cxx: Program) -> Program:
    """Return every place of a CUDA toolkit, in the order in which they are tried."""
    return cuda_program(probe_cuda(env, packages=sys.path, store=open_store(env)), cxx)


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


DEVICE_COMPILERS: tuple[Callable[[Mapping[str, str], Program], Program], ...] = (
    explain_rocm,
    explain_cuda,
)
"""What each backend says of its compilers, given the environment and the C++ compilers: one
function for each. Without what they look for, the CPU can still be built for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSdk:
    """An SDK in the store, measured."""

    sdk: Sdk
    size_bytes: int
    problem: str | None
    """What is wrong with its files; empty when nothing is, and None when nobody looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The tools, in the order in which a build uses them."""

    tools: tuple[Program, ...]
    device_tools: tuple[Program, ...]
    ccache: Program
    capacity: Capacity
    store: Store
    sdks: tuple[StoredSdk, ...]

    @property
    def jobs(self) -> int:
        """How many compilers may run at once."""
        return job_count(self.capacity)

    @property
    def all_tools(self) -> tuple[Program, ...]:
        """The tools, those included without which the CPU can be built for."""
        return (*self.tools, *self.device_tools, self.ccache)

    @property
    def missing(self) -> tuple[str, ...]:
        """The tools without which nothing can be built."""
        return tuple(it.name for it in self.tools if it.chosen is None)


def diagnose(env: Mapping[str, str], *, python: str, verifies: bool = False) -> Diagnosis:
    """Look for every tool; a missing one is a result, not an error.

    Args:
        env: the environment.
        python: the interpreter whose torch is built against.
        verifies: whether to compare every SDK with its hash, which takes seconds.
    """
    cxx, store = probe_cxx(env), open_store(env)
    return Diagnosis(
        tools=(*_torch(python), cxx, probe_cmake(), probe_ninja()),
        device_tools=tuple(explain(env, cxx) for explain in DEVICE_COMPILERS),
        ccache=probe_ccache(),
        capacity=probe_capacity(env),
        store=store,
        sdks=tuple(_measure(it, store, verifies=verifies) for it in store.installed()),
    )


def _measure(sdk: Sdk, store: Store, *, verifies: bool) -> StoredSdk:
    files = (it.lstat() for it in sdk.tree.rglob("*") if not it.is_dir())
    return StoredSdk(
        sdk=sdk,
        size_bytes=sum(it.st_size for it in files),
        problem=store.verify(sdk) if verifies else None,
    )


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
