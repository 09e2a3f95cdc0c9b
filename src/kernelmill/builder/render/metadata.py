"""What is known of ``metadata.json`` before anything is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kernelmill import __version__
from kernelmill.spec.backend import Backend
from kernelmill.spec.metadata import Metadata, Provenance, SourceState

if TYPE_CHECKING:
    from kernelmill.spec.manifest import BackendGeneral, CudaGeneral, General, Manifest

BASE_MINVER = "0.14.0"
DEPENDENCIES_MINVER = "0.17.0"
"""The first release of ``kernels`` that loads kernels which depend on others."""


class Build(Protocol):
    """What a plan of any framework knows of its build."""

    @property
    def manifest(self) -> Manifest:
        """The kernel's."""

    @property
    def ops_name(self) -> str:
        """The build's id."""

    @property
    def backend(self) -> Backend:
        """What it is for."""

    @property
    def archs(self) -> tuple[str, ...] | None:
        """The devices it is for; None where the backend has no such names."""

    @property
    def is_cross(self) -> bool:
        """Whether it is for another machine than one like this."""


def draft_metadata(plan: Build, *, source: SourceState | None = None) -> Metadata:
    """Return the metadata of ``plan``, without digest and build record.

    Args:
        plan: of the build.
        source: the commit of the kernel's sources; without it there is no provenance either.
    """
    general = plan.manifest.general
    own = backend_general(general, plan.backend)
    kernel_depends = (*general.kernel_depends, *(own.kernel_depends if own else ()))
    return Metadata(
        name=str(general.name),
        id=plan.ops_name,
        version=general.version,
        kernels_minver=DEPENDENCIES_MINVER if kernel_depends else BASE_MINVER,
        license=general.license,
        upstream=general.upstream,
        source=general.source,
        python_depends=(*general.python_depends, *(own.python_depends if own else ())),
        kernel_depends=kernel_depends,
        backend=plan.backend,
        archs=plan.archs,
        provenance=Provenance(kernel_builder=SourceState(version=__version__), kernel=source)
        if source
        else None,
    )


def backend_general(general: General, backend: Backend) -> BackendGeneral | CudaGeneral | None:
    """Return what a manifest adds for one backend, or nothing."""
    match backend:
        case Backend.CUDA:
            return general.cuda
        case Backend.NEURON:
            return general.neuron
        case Backend.TPU:
            return general.tpu
        case Backend.XPU:
            return general.xpu
        case _:
            return None
