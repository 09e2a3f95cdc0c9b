"""CUDA capabilities: which are made by default, and which a compiler cannot make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.cuda.errors import CudaArchError
from kernelmill.builder.matrix import dotted, load_matrix
from kernelmill.spec.archs import CAPABILITY, select_capabilities
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelmill.builder.cuda.toolchain import CudaToolkit, Version

_FIRST_WITH: Final = {"": (0, 0), "a": (9, 0), "f": (10, 0)}
"""Suffix -> the first capability that has it."""


def default_archs(version: Version) -> tuple[str, ...]:
    """Return what is made for kernels that name no capabilities."""
    lists = load_matrix().cuda_archs
    return lists[max(since for since in lists if since <= version)]


def check_archs(
    archs: Sequence[str], toolkit: CudaToolkit, *, where: str
) -> tuple[CudaArchError, ...]:
    """Return a finding for each capability that the compiler cannot target: none is left out (D10).

    Args:
        archs: as ``build.toml`` has them: ``9.0a``, ``12.0+PTX``.
        toolkit: which compiles.
        where: their place.
    """
    return tuple(
        CudaArchError(
            f"{arch!r} is not an architecture that CUDA {dotted(toolkit.release)} "
            f"({toolkit.version_text}) can target",
            where=where,
            hint=_hint(arch, toolkit),
        )
        for arch in archs
        if not _can_target(arch, toolkit)
    )


def _can_target(arch: str, toolkit: CudaToolkit) -> bool:
    return _is_known(arch, toolkit.release) and _plain(arch) in toolkit.archs


def _is_known(arch: str, version: Version) -> bool:
    """Tell whether NVIDIA's own compiler of this version can target ``arch``."""
    match = CAPABILITY.fullmatch(arch)
    if match is None:
        return False
    try:
        select_capabilities([arch], version)
    except InputError:
        return False
    return (int(match["major"]), int(match["minor"])) >= _FIRST_WITH[match["suffix"]]


def _plain(arch: str) -> str:
    return arch.removesuffix("+PTX").rstrip("af")


def _hint(arch: str, toolkit: CudaToolkit) -> str:
    others = [it for it in _every_version() if it != toolkit.release and _is_known(arch, it)]
    if others:
        known = ", ".join(map(dotted, others))
        return f"build for CUDA {known}, or give the kernel cuda-minver = {dotted(others[0])!r}"
    numbers = sorted(toolkit.archs, key=lambda it: tuple(map(int, it.split("."))))
    return f"one of {' '.join(numbers)}, with a or f where the device has it"


def _every_version() -> Iterator[Version]:
    computes = {it for series in load_matrix().series for it in series.computes}
    yield from sorted(it.version for it in computes if it.backend is Backend.CUDA and it.version)
