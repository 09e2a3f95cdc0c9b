"""What ``build`` would refuse in a manifest that is well formed, whatever machine it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.backends import BACKENDS
from kernelmill.builder.errors import PlanError
from kernelmill.builder.hip.archs import KNOWN_ARCHS, suggest_arch
from kernelmill.builder.plan import kernels_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.builder.sources import KernelTree


def check_manifest(tree: KernelTree) -> tuple[PlanError, ...]:
    """Return a finding for each backend without kernels and each architecture that is not known."""
    return (*_check_backends(tree), *_check_archs(tree))


def _check_backends(tree: KernelTree) -> Iterator[PlanError]:
    if tree.is_python_only:
        return
    for backend in tree.manifest.general.backends:
        try:
            if backend in BACKENDS:
                kernels_for(tree, backend)
        except PlanError as error:
            yield error


def _check_archs(tree: KernelTree) -> Iterator[PlanError]:
    for kernel in tree.manifest.kernels:
        for index, arch in enumerate(kernel.rocm_archs):
            if arch not in KNOWN_ARCHS:
                yield PlanError(
                    f"no AMD architecture is called {arch!r}",
                    where=tree.where("kernel", kernel.name, "rocm-archs", index),
                    hint=suggest_arch(arch, KNOWN_ARCHS),
                )
