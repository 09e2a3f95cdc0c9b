"""Device architectures: which code runs on which device, and which a compiler can make."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InputError, InvalidName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelmill.spec.host import Device

Policy = Literal["all", "any"]
"""Whether every device of a machine must be able to run a build, or one is enough."""

CAPABILITY: Final = re.compile(
    r"(?P<major>[0-9]+)\.(?P<minor>[0-9])(?P<suffix>[af]?)(?P<ptx>\+PTX)?"
)

GENERIC_TARGETS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(members.split())
    for name, members in {
        "gfx9-generic": "gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c",
        "gfx9-4-generic": "gfx940 gfx941 gfx942 gfx950",
        "gfx10-1-generic": "gfx1010 gfx1011 gfx1012 gfx1013",
        "gfx10-3-generic": "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036",
        "gfx11-generic": "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153",
        "gfx12-generic": "gfx1200 gfx1201",
        "gfx12-5-generic": "gfx1250 gfx1251",
    }.items()
}
"""The devices that code for a generic target runs on.

https://llvm.org/docs/AMDGPUUsage.html#amdgpu-generic-processor-table
"""
PORTABLE_TARGET: Final = "amdgcnspirv"
"""SPIR-V that the HIP runtime compiles for whatever AMD device there is."""

_SPECIFIC: Final = re.compile(r"gfx(?P<major>[0-9]{1,2})(?P<minor>[0-9a-f])(?P<stepping>[0-9a-f])")

# Source: the release notes of the CUDA toolkits, "new features" and "deprecated or dropped".
_FIRST_TOOLKIT: Final[Mapping[str, tuple[int, int]]] = {
    "7.0": (9, 0),
    "7.2": (9, 2),
    "7.5": (10, 0),
    "8.0": (11, 0),
    "8.6": (11, 1),
    "8.7": (11, 4),
    "8.8": (13, 0),
    "8.9": (11, 8),
    "9.0": (11, 8),
    "10.0": (12, 8),
    "10.1": (12, 8),
    "10.3": (12, 9),
    "11.0": (13, 0),
    "12.0": (12, 8),
    "12.1": (12, 9),
}
_FIRST_SUFFIX: Final[Mapping[str, tuple[int, int]]] = {"": (0, 0), "a": (12, 0), "f": (12, 9)}
_OLDEST_OF_TOOLKIT: Final = (((13, 0), (7, 5)), ((12, 0), (5, 0)), ((11, 0), (3, 5)))
"""From this toolkit on, code for older devices than this is no longer made."""
_RENAMED: Final = {"10.1": (13, 0)}
"""Names that a toolkit dropped: the device of 10.1 is called 11.0 since."""


@dataclass(frozen=True, slots=True, order=True)
class Gfx:
    """An AMD processor's name in its parts, which order processors: gfx906 < gfx908 < gfx90a.

    A compute capability, as PyTorch tells it, is 9.0 for all three of those.
    """

    major: int
    minor: int
    stepping: int

    @classmethod
    def parse(cls, text: str, *, where: str = "") -> Gfx:
        """Read ``gfx90a``, also with feature flags; refuse what is no single processor."""
        match = _SPECIFIC.fullmatch(_name_of(text))
        if not match:
            hint = "write one processor, such as gfx942 or gfx90a"
            raise InvalidName(f"{text!r} is not an AMD processor", where=where, hint=hint)
        return cls(int(match["major"]), int(match["minor"], 16), int(match["stepping"], 16))

    def __str__(self) -> str:
        return f"gfx{self.major}{self.minor:x}{self.stepping:x}"


def check_archs(
    archs: Sequence[str] | None,
    backend: Backend,
    devices: Sequence[Device],
    *,
    policy: Policy = "all",
) -> str:
    """Return why a build with code for ``archs`` cannot run on ``devices``; empty when it can.

    A build that names no architectures, or a machine without devices, gives no reason.

    Args:
        archs: what the build has code for, as its metadata says.
        backend: of the build.
        devices: those of the machine; the reason names the unfit ones by their index.
        policy: whether each device must fit, or one is enough.
    """
    if not archs:
        return ""
    runs_on = {Backend.CUDA: _runs_on_cuda, Backend.ROCM: _runs_on_rocm}.get(backend)
    if runs_on is None:
        return ""
    unfit = [
        f"{index} ({device.arch or 'unknown arch'})"
        for index, device in enumerate(devices)
        if not runs_on(archs, device.arch)
    ]
    if not unfit or (policy == "any" and len(unfit) < len(devices)):
        return ""
    return f"no code for device {', '.join(unfit)}; it has code for {', '.join(archs)}"


def _runs_on_rocm(archs: Sequence[str], device: str) -> bool:
    return any(covers_gfx(arch, device) for arch in archs)


def covers_gfx(arch: str, device: str) -> bool:
    """Tell whether code for ``arch`` runs on the AMD device that calls itself ``device``.

    Code for ``gfx90a:xnack+`` needs the feature on; code that does not say runs either way, and
    so does any on a device whose features are not known.
    """
    if arch == PORTABLE_TARGET:
        return bool(_SPECIFIC.fullmatch(_name_of(device)))
    wants, has = _name_of(arch), _name_of(device)
    if wants != has and has not in GENERIC_TARGETS.get(wants, frozenset()):
        return False
    features = _features_of(device)
    return all(features.get(name, value) == value for name, value in _features_of(arch).items())


def _name_of(target: str) -> str:
    return target.strip().partition(":")[0]


def _features_of(target: str) -> dict[str, str]:
    flags = target.strip().split(":")[1:]
    return {flag[:-1]: flag[-1] for flag in flags if flag[-1:] in {"+", "-"}}


def _runs_on_cuda(archs: Sequence[str], device: str) -> bool:
    matches = [match for arch in archs if (match := CAPABILITY.fullmatch(arch))]
    major, _, minor = device.partition(".")
    if not matches or not (major.isdecimal() and minor.isdecimal()):
        return True  # nothing here can be compared
    return any(_covers(match, (int(major), int(minor))) for match in matches)


def _covers(match: re.Match[str], device: tuple[int, int]) -> bool:
    """Compare with NVIDIA's rules: code runs on the same major version, from its minor one on.

    ``a`` is for one capability alone and ``f`` for its family, their PTX too; other PTX is compiled
    for any later device.
    """
    built = int(match["major"]), int(match["minor"])
    if match["suffix"] == "a":
        return device == built
    if match["ptx"] and not match["suffix"] and device >= built:
        return True
    return device[0] == built[0] and device[1] >= built[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchChoice:
    """Which of the wanted architectures a compiler makes."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]


def select_capabilities(
    wanted: Sequence[str], toolkit: tuple[int, int], *, where: str = ""
) -> ArchChoice:
    """Divide CUDA capabilities into those that a toolkit can compile for and the others.

    Args:
        wanted: such as ``8.0``, ``9.0a`` or ``12.0+PTX``.
        toolkit: the CUDA toolkit's version.
        where: for the error.

    Raises:
        InputError: the toolkit can compile for none of them.
    """
    kept = tuple(it for it in wanted if _compiles(it, toolkit))
    dropped = tuple(it for it in wanted if it not in kept)
    if wanted and not kept:
        raise InputError(
            f"CUDA {toolkit[0]}.{toolkit[1]} compiles for none of {', '.join(wanted)}",
            where=where,
            hint="use another CUDA toolkit, or add a capability that it knows",
        )
    return ArchChoice(kept=kept, dropped=dropped)


def _compiles(capability: str, toolkit: tuple[int, int]) -> bool:
    match = CAPABILITY.fullmatch(capability)
    if not match:
        return False
    plain = f"{match['major']}.{match['minor']}"
    first = _FIRST_TOOLKIT.get(plain, (0, 0) if int(match["major"]) < 7 else None)
    if first is None or toolkit < max(first, _FIRST_SUFFIX[match["suffix"]]):
        return False
    oldest = next((it for since, it in _OLDEST_OF_TOOLKIT if toolkit >= since), (0, 0))
    renamed = _RENAMED.get(plain)
    return (int(match["major"]), int(match["minor"])) >= oldest and not (
        renamed and toolkit >= renamed
    )
