"""Compilers for AMD GPUs: where they can be, in which order they are preferred, what they can do.

Everything here is a pure function of facts; ``probe`` gathers the facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from kernelmill.builder.errors import install_hint
from kernelmill.builder.hip.archs import suggest_arch
from kernelmill.builder.hip.errors import HipToolchainError, UnsupportedArchError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Kind = Literal["rocm", "clang", "zig"]
OLDEST_CLANG: Final = 19
NEWEST_CLANG: Final = 24
"""The highest number looked for in names like ``clang++-19``."""
CLANG_NAMES: Final = (
    *(f"clang++-{number}" for number in range(NEWEST_CLANG, OLDEST_CLANG - 1, -1)),
    "clang++",
)
ROCM_VARIABLES: Final = ("ROCM_PATH", "ROCM_HOME")
PIP_FOLDERS: Final = ("_rocm_sdk_devel", "_rocm_sdk_core")
"""Packages that AMD's pip ROCm SDK installs beside the Python packages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HipToolchain:
    """A compiler that was tried and works."""

    kind: Kind
    """``rocm``: an SDK with AMD's headers. ``clang``, ``zig``: for cross-compilation with ours."""
    command: tuple[str, ...]
    """The program and its first arguments: ``("/x/zig", "clang")``."""
    version_text: str
    """As the compiler says it, for people and for the build record."""
    rocm_root: str | None
    """The SDK's folder; ``None``, never an empty string, when cross-compiling."""
    rocm_version: tuple[int, int] | None = None
    """Of the SDK; ``None`` where it lacks a part: then only its compiler is used."""
    archs: tuple[str, ...]
    """What it can target, sorted; features such as ``:xnack-`` come on top."""

    @property
    def summary(self) -> str:
        """What it is, and what of it takes part in a build."""
        if self.rocm_root is None:
            return f"{self.version_text}; cross-compiles"
        if self.rocm_version is None:
            return f"{self.version_text}; cross-compiles: the SDK is not complete"
        major, minor = self.rocm_version
        return f"{self.version_text}; ROCm {major}.{minor}, with its headers and runtime"

    def check_archs(
        self, archs: Iterable[str], *, where: str = ""
    ) -> tuple[UnsupportedArchError, ...]:
        """Return a finding for each of ``archs`` that it cannot target."""
        return tuple(
            UnsupportedArchError(
                f"{arch!r} is not an architecture that {self.version_text} can target",
                where=where,
                hint=suggest_arch(arch, self.archs),
            )
            for arch in archs
            if arch.partition(":")[0] not in self.archs
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where compilers could be on this machine. ``None`` and empty tuples: nothing there."""

    pip_sdk: str | None
    """Folder of AMD's ROCm SDK from pip."""
    rocm_variable: tuple[str, str] | None
    """The environment variable that names an SDK, and its value; an empty value counts as none."""
    hipcc: str | None
    """``hipcc`` on ``PATH``, links resolved."""
    opt_folders: tuple[str, ...]
    """Folders called ``rocm`` or ``rocm-<version>`` under ``/opt``."""
    clangs: tuple[str, ...]
    """In the order of ``CLANG_NAMES``."""
    zig: str | None
    """``zig`` of the Python package ``ziglang``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place to look at."""

    label: str
    kind: Kind
    path: str | None
    """An SDK's folder for ``rocm``, else a program. ``None``: there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was found at a place."""

    place: Place
    toolchain: HipToolchain | None
    objection: str
    """Why it cannot be used; empty when it can."""

    def __str__(self) -> str:
        found = self.toolchain.version_text if self.toolchain else self.objection
        path = f" ({self.place.path})" if self.place.path else ""
        return f"{self.place.label}{path}: {found}"


def order_places(surroundings: Surroundings) -> tuple[Place, ...]:
    """Return where to look, best first.

    An SDK that the user chose or installed comes before a compiler that merely is there; what a
    place lacks is listed too, so that the trace says what was looked for.
    """
    variable, root = surroundings.rocm_variable or (" or ".join(ROCM_VARIABLES), None)
    hipcc = surroundings.hipcc
    opt: Sequence[str | None] = (*sorted(surroundings.opt_folders, key=_opt_rank),) or [None]
    clangs: Sequence[str | None] = surroundings.clangs or [None]
    return (
        _place("ROCm SDK from pip", "rocm", surroundings.pip_sdk),
        _place(variable, "rocm", root),
        _place("hipcc on PATH", "rocm", hipcc.rpartition("/bin/")[0] if hipcc else None),
        *(_place("ROCm SDK in /opt", "rocm", folder) for folder in opt),
        *(_place("clang on PATH", "clang", clang) for clang in clangs),
        _place("Python package ziglang", "zig", surroundings.zig),
    )


def _place(label: str, kind: Kind, path: str | None) -> Place:
    return Place(label=label, kind=kind, path=path or None)


def _opt_rank(folder: str) -> tuple[bool, tuple[int, ...], str]:
    """Order ``/opt/rocm`` (the administrator's choice) first, then the newest version."""
    _, dash, version = folder.rpartition("/")[2].partition("-")
    numbers = tuple(-int(part) for part in version.split(".") if part.isdecimal())
    return bool(dash), numbers, folder


def choose(trials: Sequence[Trial], archs: Sequence[str] = ()) -> HipToolchain | None:
    """Return the first toolchain that can target ``archs``; if none can, the first that works."""
    working = [trial.toolchain for trial in trials if trial.toolchain]
    fitting = [toolchain for toolchain in working if not toolchain.check_archs(archs)]
    return next(iter(fitting or working), None)


def require(trials: Sequence[Trial], archs: Sequence[str] = (), *, where: str = "") -> HipToolchain:
    """Return the first toolchain that can target ``archs``.

    Args:
        trials: from ``probe``.
        archs: as written in ``build.toml``.
        where: where they are written.

    Raises:
        HipToolchainError: nothing works; the text lists what was tried.
        UnsupportedArchError: no compiler that works can target one of ``archs``.
    """
    chosen = choose(trials, archs)
    if chosen is None:
        tried = "".join(f"\n    {trial}" for trial in trials)
        raise HipToolchainError(
            f"no compiler for AMD GPUs; tried:{tried}",
            hint=f"{install_hint('builder')} (brings ziglang), or a ROCm SDK",
        )
    for fault in chosen.check_archs(archs, where=where):
        raise fault
    return chosen
