"""Build variants: what a build was made for, written as the name of its folder.

=========  ==========================================================================
arch       ``<framework>-<compute>-<cpu>-<os>``
framework  ``torch<M><m>[-cxx11|-cxx98]``, ``torch-stable-abi<M><m>``, ``tvm-ffi<M><m>``
compute    ``cpu metal neuron tpu``, ``cu<M><m> rocm<M><m> xpu<M><m> cann<M><m>``
noarch     ``torch-<name>``: a backend, ``npu`` or ``universal``; pure Python
=========  ==========================================================================

Versions are written without a separator: see ``_major_digits`` for where one ends.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidVariant
from kernelmill.spec.values import dataclass

FrameworkKind = Literal["torch", "torch-stable-abi", "tvm-ffi"]

_FRAMEWORK: Final = re.compile(
    r"(?P<kind>torch-stable-abi|tvm-ffi|torch)(?P<major>[0-9])(?P<minor>0|[1-9][0-9]{0,5})"
    r"(?P<tag>-cxx11|-cxx98)?"
)
_COMPUTE: Final = re.compile(r"(?P<name>[a-z]+)(?P<digits>[0-9]{0,10})")
_CPUS: Final = frozenset({"x86_64", "aarch64"})
_SYSTEMS: Final = frozenset({"linux", "darwin", "windows"})
_NOARCH: Final = re.compile(r"torch-(?P<name>[a-z][a-z0-9]*)")
_VERSIONED: Final = {
    "cu": Backend.CUDA,
    "rocm": Backend.ROCM,
    "xpu": Backend.XPU,
    "cann": Backend.CANN,
}
_PREFIX: Final = {backend: prefix for prefix, backend in _VERSIONED.items()}
_UNVERSIONED: Final = frozenset({Backend.CPU, Backend.METAL, Backend.NEURON, Backend.TPU})


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """What the compiled module is linked against.

    NOTE: a name holds one digit of the major version, so versions from 10 on have no name yet.
    """

    kind: FrameworkKind
    version: tuple[int, int]
    cxx11_abi: bool | None
    """The C++ string ABI of a ``torch`` build; ``None`` when the name does not say."""

    def __str__(self) -> str:
        tag = {None: "", True: "-cxx11", False: "-cxx98"}[self.cxx11_abi]
        return f"{self.kind}{self.version[0]}{self.version[1]}{tag}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """A backend with the version of its runtime, where the ABI depends on it."""

    backend: Backend
    version: tuple[int, int] | None

    def __str__(self) -> str:
        if self.version is None:
            return self.backend.value
        prefix = _PREFIX.get(self.backend, self.backend.value)
        return f"{prefix}{self.version[0]}{self.version[1]}"


class ArchVariant(NamedTuple):
    """A build with machine code. A tuple, since a repository may have thousands."""

    framework: Framework
    compute: Compute
    cpu: str
    """``x86_64`` or ``aarch64``."""
    os: str
    """``linux``, ``darwin`` or ``windows``."""

    def __str__(self) -> str:
        return f"{self.framework}-{self.compute}-{self.cpu}-{self.os}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoarchVariant:
    """A pure Python build, for one backend or for all (``universal``)."""

    name: str

    def __str__(self) -> str:
        return f"torch-{self.name}"


Variant = ArchVariant | NoarchVariant


def parse_variant(text: str) -> Variant:
    """Read a variant's folder name; ``str`` gives the same text back.

    Raises:
        InvalidVariant: the text is not the name of a variant.
    """
    parts = text.rsplit("-", 3)
    if len(parts) == 4 and parts[2] in _CPUS and parts[3] in _SYSTEMS:
        framework, compute = _parse_framework(parts[0]), _parse_compute(parts[1])
        if framework and compute:
            return ArchVariant(framework, compute, parts[2], parts[3])
    elif match := _NOARCH.fullmatch(text):
        return NoarchVariant(name=match["name"])
    raise InvalidVariant(
        f"{text!r} is not the name of a build variant",
        hint="write it as torch213-cxx11-rocm71-x86_64-linux or torch-universal",
    )


_KINDS: Final[dict[str, FrameworkKind]] = {
    "torch": "torch",
    "torch-stable-abi": "torch-stable-abi",
    "tvm-ffi": "tvm-ffi",
}


# A repository may have thousands of variants, but has few frameworks and backends: each is read
# once, and the same value is part of all of them.
@lru_cache(maxsize=1024)
def _parse_framework(text: str) -> Framework | None:
    match = _FRAMEWORK.fullmatch(text)
    if not match or (match["tag"] and match["kind"] != "torch"):
        return None
    return Framework(
        kind=_KINDS[match["kind"]],
        version=(int(match["major"]), int(match["minor"])),
        cxx11_abi=None if match["tag"] is None else match["tag"] == "-cxx11",
    )


@lru_cache(maxsize=1024)
def _parse_compute(text: str) -> Compute | None:
    match = _COMPUTE.fullmatch(text)
    if not match:
        return None
    name, digits = match["name"], match["digits"]
    if not digits:
        known = name in _UNVERSIONED
        return Compute(backend=Backend(name), version=None) if known else None
    backend = _VERSIONED.get(name)
    if backend is None:
        return None
    split = _major_digits(backend, digits)
    major, minor = digits[:split], digits[split:]
    # A leading zero would not survive the round trip: "rocm07" is nobody's 0.7.
    if not minor or major.startswith("0") or (minor.startswith("0") and minor != "0"):
        return None
    return Compute(backend=backend, version=(int(major), int(minor)))


def _major_digits(backend: Backend, digits: str) -> int:
    """Tell how many digits are the major version: names carry no separator.

    ``cu128`` is 12.8 and ``cu1210`` is 12.10; ``rocm714`` is 7.14 and ``rocm100`` is 10.0: ROCm and
    CANN below 4 came before everything that builds kernels, so a leading 1, 2 or 3 is a ten.
    """
    match backend:
        case Backend.XPU:
            return 4  # a year
        case Backend.CUDA:
            return 1 if len(digits) == 2 else 2
        case _:
            return 2 if digits[0] in "123" and len(digits) > 2 else 1
