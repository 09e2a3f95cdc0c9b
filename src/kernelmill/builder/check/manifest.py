"""What ``build`` would refuse in a manifest that is well formed, whatever machine it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.backends import BACKENDS
from kernelmill.builder.errors import PlanError
from kernelmill.builder.hip.archs import KNOWN_ARCHS, suggest_arch
from kernelmill.builder.plan import check_stable_sources, kernels_for
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.builder.sources import KernelTree


def check_manifest(tree: KernelTree) -> tuple[PlanError, ...]:
    """Return what is wrong: backends without kernels, unknown architectures, unstable headers."""
    return (*_check_backends(tree), *_check_archs(tree), *_check_stable_abi(tree))


def _check_backends(tree: KernelTree) -> Iterator[PlanError]:
    if tree.is_python_only:
        return
    for backend in tree.manifest.general.backends:
        try:
            if backend in BACKENDS:
                kernels_for(tree, backend)
        except PlanError as error:
            yield error


def _check_stable_abi(tree: KernelTree) -> Iterator[PlanError]:
    found = (it for backend in Backend for it in check_stable_sources(tree, backend))
    # A file that several backends share is named once.
    yield from {it.where: it for it in found}.values()


def _check_archs(tree: KernelTree) -> Iterator[PlanError]:
    for kernel in tree.manifest.kernels:
        for index, arch in enumerate(kernel.rocm_archs):
            if arch not in KNOWN_ARCHS:
                yield PlanError(
                    f"no AMD architecture is called {arch!r}",
                    where=tree.where("kernel", kernel.name, "rocm-archs", index),
                    hint=suggest_arch(arch, KNOWN_ARCHS),
                )
