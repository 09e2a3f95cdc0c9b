"""Warnings about a kernel's sources, before anything is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding
from kernelmill.builder.check.flags import check_flags
from kernelmill.builder.check.imports import check_imports
from kernelmill.builder.check.masks import check_masks
from kernelmill.builder.check.op_sources import read_operators
from kernelmill.builder.check.ops import check_operators, check_registrations
from kernelmill.spec.backend import Backend
from kernelmill.spec.licenses import license_objection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.builder.sources import KernelTree


def lint_sources(tree: KernelTree) -> tuple[Finding, ...]:
    """Find what is odd about licence, operators, names, masks for AMD, flags and imports."""
    texts = {path: (tree.root / path).read_bytes() for path in tree.files}
    python = {path: data for path, data in texts.items() if path.endswith(".py")}
    code = {
        path: data.decode("utf-8", "replace")
        for path, data in texts.items()
        if not path.endswith((".py", ".pyi"))
    }
    read = read_operators(code, python)
    return (
        *_check_license(tree),
        *check_registrations(read.blocks),
        *check_operators(read.operators),
        *check_masks(_for_amd(tree, code)),
        *_check_flags(tree),
        *check_imports(python, package=tree.manifest.general.name.python_name),
    )


def _check_license(tree: KernelTree) -> Iterator[Finding]:
    if objection := license_objection(tree.manifest.general.license):
        yield Finding(problem=f"{tree.where('general', 'license')}: {objection}")


def _for_amd(tree: KernelTree, code: dict[str, str]) -> dict[str, str]:
    """Return the sources that are compiled for ROCm, and every header that they may include."""
    kernels = tree.manifest.kernels_for(Backend.ROCM)
    if not kernels:
        return {}
    mine = {path for kernel in kernels for path in kernel.src}
    others = {path for kernel in tree.manifest.kernels for path in kernel.src} - mine
    return {path: text for path, text in code.items() if path not in others}


def _check_flags(tree: KernelTree) -> Iterator[Finding]:
    for kernel in tree.manifest.kernels_for(Backend.ROCM):
        where = tree.where("kernel", kernel.name, "hip-flags")
        yield from check_flags(kernel.hip_flags, archs=kernel.rocm_archs, where=where)
