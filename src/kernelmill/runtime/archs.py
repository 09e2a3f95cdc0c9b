"""Whether a build holds machine code for a device, from its metadata. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.spec.host import Device

CAPABILITY: Final = re.compile(
    r"(?P<major>[0-9]+)\.(?P<minor>[0-9])(?P<suffix>[af]?)(?P<ptx>\+PTX)?"
)


def check_archs(archs: Sequence[str] | None, backend: Backend, devices: Sequence[Device]) -> str:
    """Return why a build with code for ``archs`` cannot run on ``devices``; empty when it can.

    A build that names no architectures, or a machine without devices, gives no reason.
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
    if not unfit:
        return ""
    return f"no code for device {', '.join(unfit)}; it has code for {', '.join(archs)}"


def _runs_on_rocm(archs: Sequence[str], device: str) -> bool:
    return device in {arch.partition(":")[0] for arch in archs}


def _runs_on_cuda(archs: Sequence[str], device: str) -> bool:
    matches = [match for arch in archs if (match := CAPABILITY.fullmatch(arch))]
    major, _, minor = device.partition(".")
    if not matches or not (major.isdecimal() and minor.isdecimal()):
        return True  # nothing here can be compared
    return any(_covers(match, (int(major), int(minor))) for match in matches)


def _covers(match: re.Match[str], device: tuple[int, int]) -> bool:
    """Compare with NVIDIA's rules: code runs on the same major version, from its minor one on.

    ``a`` is for one capability alone, ``f`` for its family, and PTX is compiled for any later one.
    """
    built = int(match["major"]), int(match["minor"])
    if match["ptx"] and device >= built:
        return True
    if match["suffix"] == "a":
        return device == built
    return device[0] == built[0] and device[1] >= built[1]
