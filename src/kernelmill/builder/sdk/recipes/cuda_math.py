"""The headers of CUDA's libraries: cuBLAS, cuSPARSE, cuSOLVER, cuRAND. 3 MB of 830 MB of wheels.

``ATen/cuda/CUDAContext.h`` includes them. Nothing is linked against them: torch has loaded the
libraries, and a kernel that calls one has to link it by itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.builder.sdk.recipes.cuda import wanted_wheels
from kernelmill.builder.sdk.wheels import open_wheel, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KIND = "cuda-math"
SUMMARY = (
    "headers of cuBLAS, cuSPARSE, cuSOLVER and cuRAND, which some of PyTorch's headers include"
)

_HEADER: Final = re.compile(r"nvidia/[^/]+/(?P<path>include/.+\.h)")
_LICENSE: Final = re.compile(r"(?P<name>[^/]+)-[^-/]+\.dist-info/(?:licenses/)?License\.txt")
_NAMED_FOR: Final = "nvidia-cublas"
"""Whose first two numbers are those of the CUDA that it came with."""


def wanted(version: str, platform: str) -> Sequence[Wanted]:
    """Return the wheels of the libraries of one CUDA."""
    return wanted_wheels(KIND, version, platform)


def make(
    files: Mapping[str, Path], _platform: str, tree: Path, note: Callable[[str], None]
) -> Made:
    """Unpack the headers, and nothing else."""
    for path in files.values():
        note(f"unpacking the headers of {path.name}")
        with open_wheel(path) as wheel:
            unpack(wheel, tree, place=_place)
    version = files[_NAMED_FOR].name.split("-")[1]
    return Made(version=version, facts={"cuda": ".".join(version.split(".")[:2])})


def _place(path: str) -> str | None:
    if license_file := _LICENSE.fullmatch(path):
        return f"licenses/{license_file['name']}.txt"
    found = _HEADER.fullmatch(path)
    return found["path"] if found else None
