"""The kernels that a kernel may use while it is imported."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from kernelmill.runtime.errors import NotADependency

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

# None outside the import of any kernel. Every kernel has its own, and an import that fails takes
# its own along.
_dependencies: ContextVar[Mapping[str, ModuleType] | None] = ContextVar(
    "kernelmill_dependencies", default=None
)


@contextmanager
def offering(dependencies: Mapping[str, ModuleType]) -> Iterator[None]:
    """Let what is imported in the block have ``dependencies``, and nothing else."""
    token = _dependencies.set(dependencies)
    try:
        yield
    finally:
        _dependencies.reset(token)


def get_kernel_dep(repo_id: str) -> ModuleType:
    """Return a kernel that the calling kernel depends on. Works while that is imported.

    Which version it is, the caller's metadata says: two kernels may get two versions.

    Args:
        repo_id: as ``kernel-depends`` in ``build.toml`` writes it.

    Raises:
        NotADependency: no kernel is being imported, or this one does not name ``repo_id``; a
            ``RuntimeError``.
    """
    dependencies = _dependencies.get()
    if dependencies is None:
        raise NotADependency(
            "`get_kernel_dep` only works during kernel loading.",
            hint="call it at the top level of the kernel's module, and keep what it returns",
        )
    if repo_id not in dependencies:
        raise NotADependency(
            f"Dependency '{repo_id}' not found in kernel dependencies. Ensure the dependency is "
            "added to `kernel-deps` in build.toml.",
            hint=f"this kernel has {', '.join(sorted(dependencies)) or 'none'}",
        )
    return dependencies[repo_id]
