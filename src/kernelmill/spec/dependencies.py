"""The Python packages that a kernel may depend on, and its dependencies on other kernels."""

from __future__ import annotations

from typing import Final

from kernelmill.spec.backend import Backend
from kernelmill.spec.names import RepoId
from kernelmill.spec.reader import Place, natural, parsed, table, text
from kernelmill.spec.values import dataclass


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


def kernel_dependency(value: object, place: Place) -> KernelDependency:
    """Read ``{repo-id, version}`` or ``{repo-id, revision}``, refusing other keys."""
    item = table(value, place)
    dependency = KernelDependency(
        repo_id=item.required(
            "repo-id", parsed(RepoId.parse), stand_in=RepoId(namespace="", name="")
        ),
        version=item.optional("version", natural, default=None),
        revision=item.optional("revision", text, default=None),
    )
    if "version" in item and "revision" in item:
        raise place.fail("version and revision are mutually exclusive", "keep one of the two")
    if "version" not in item and "revision" not in item:
        raise place.fail("either version or revision must be given", "add version = 1")
    item.reject_unknown()
    return dependency
