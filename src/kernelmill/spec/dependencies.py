"""The Python packages that a kernel may depend on, and its dependencies on other kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from kernelmill.spec.names import RepoId


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonDependency:
    """A Python package that a kernel may name in ``python-depends``."""

    name: str
    """As the manifest and the metadata write it."""
    package: str
    """The distribution to install."""
    module: str | None
    """What must be importable; ``None`` when nothing is imported."""
    backend: Backend | None
    """The only backend it may be used for; ``None`` for any."""


PYTHON_DEPENDENCIES: Final = tuple(
    PythonDependency(name=name, package=package, module=module, backend=backend)
    for name, package, module, backend in (
        ("einops", "einops", "einops", None),
        ("helion", "helion", "helion", None),
        ("tvm-ffi", "apache-tvm-ffi", "tvm_ffi", None),
        ("nvidia-cutlass-dsl", "nvidia-cutlass-dsl", "cutlass", Backend.CUDA),
        ("nki", "nki", "nki", Backend.NEURON),
        ("onednn", "onednn-devel", None, Backend.XPU),
    )
)
"""The list is closed, so that a kernel cannot make its user install just anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelDependency:
    """Another kernel that this one loads: a version or a revision, never both."""

    repo_id: RepoId
    version: int | None = None
    revision: str | None = None
