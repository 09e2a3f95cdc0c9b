"""CUDA toolkits: what was found, which one is used for a version, and what it takes beside it.

Everything here is a pure function of facts; ``probe`` gathers the facts.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.builder.cuda.errors import CudaToolchainError
from kernelmill.builder.errors import SdkMissing
from kernelmill.builder.matrix import dotted
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelmill.builder.cuda.libraries import Library
    from kernelmill.builder.toolchain.programs import Candidate

Version = tuple[int, int]
KIND: Final = "cuda"
"""Of the SDK that is a toolkit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaToolkit:
    """A toolkit that is whole, with a compiler that was tried."""

    kind: Literal["nvcc", "clang"]
    """Who compiles: CUDA 12 has no nvcc among its Python packages."""
    root: str
    compiler: str
    """The program."""
    version_text: str
    """As metadata names it: ``nvcc 13.0.88``."""
    release: Version
    include: tuple[str, ...]
    """Folders of headers; those of the libraries' SDK come last."""
    runtime: str
    """The ``libcudart`` that is linked, or a stub of it."""
    archs: frozenset[str]
    """Numbers that the compiler can target, such as ``9.0``."""
    newest_host: Mapping[str, int] = field(default_factory=dict)
    """``gcc`` and ``clang`` -> the newest major version that its headers take."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name -> sha256 of the SDKs among it."""
    libraries: Mapping[str, Library] = field(default_factory=dict)
    """What kernels may depend on beside it, by its name in ``depends``."""

    @property
    def summary(self) -> str:
        """What it is, and which program compiles."""
        by_clang = f"CUDA {dotted(self.release)}, compiled by {self.version_text}"
        return by_clang if self.kind == "clang" else self.version_text

    def objection_to(self, cxx: Candidate) -> str:
        """Return why the host's C++ compiler cannot be used with it, or nothing."""
        name = PurePath(cxx.path).name
        family = "clang" if "clang" in name else "gcc"
        newest, major = self.newest_host.get(family), cxx.version.partition(".")[0]
        if newest is None or not major.isdecimal() or int(major) <= newest:
            return ""
        taken = f"CUDA {dotted(self.release)} takes {family} up to {newest}"
        return f"{taken}, and {cxx.path} is {cxx.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was found at a place."""

    source: str
    root: str
    toolkit: CudaToolkit | None
    objection: str = ""
    """Why it cannot be used; empty when it can."""


def choose(trials: Sequence[Trial], version: Version | None = None) -> CudaToolkit | None:
    """Return the first toolkit that works; of ``version``, if that is given."""
    toolkits = (it.toolkit for it in trials if it.toolkit)
    return next((it for it in toolkits if version in {None, it.release}), None)


def require(trials: Sequence[Trial], version: Version) -> CudaToolkit:
    """Return the toolkit of ``version``, exactly: a newer one makes what an older driver refuses.

    Raises:
        CudaToolchainError: there is one, and a part of it is missing.
        SdkMissing: there is none; the hint says how to get it.
    """
    chosen = choose(trials, version)
    if chosen is not None:
        return chosen
    name = f"{KIND}-{dotted(version)}"
    broken = next(
        (it for it in trials if it.source == f"SDK {name}" or it.source.startswith(f"SDK {name}.")),
        None,
    )
    if broken is not None:
        raise CudaToolchainError(
            f"CUDA {dotted(version)} cannot be compiled for: {broken.objection}",
            where=broken.root,
            hint="apt-get install clang-19, or set CUDA_HOME to a whole toolkit",
        )
    others = ", ".join(dict.fromkeys(dotted(it.toolkit.release) for it in trials if it.toolkit))
    there = f"those found are {others}" if others else "none was found"
    raise SdkMissing(
        f"no CUDA {dotted(version)} toolkit: {there}",
        hint=f"kernel-builder sdk fetch {name}; or set CUDA_HOME",
        name=name,
    )
