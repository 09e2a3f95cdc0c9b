"""Whether the Python packages that a kernel needs are here, called as in the original."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.runtime.load import read_metadata
from kernelmill.runtime.requirements import ensure_python_package
from kernelmill.spec.dependencies import PYTHON_DEPENDENCIES
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from kernelmill.runtime.upstream.accelerators import Backend


def validate_dependencies(
    kernel_module_name: str, dependencies: Iterable[str], backend: Backend
) -> None:
    """Stop here unless a kernel's Python packages can be imported.

    Raises:
        InputError: no kernel may need such a package, or not on this backend; a ``ValueError``.
        MissingDependency: a package is not installed; an ``ImportError``.
    """
    foreign = {it.name for it in PYTHON_DEPENDENCIES if it.backend not in {None, backend.name}}
    for name in dependencies:
        if name in foreign:
            raise InputError(
                f"Kernel module `{kernel_module_name}` uses unsupported kernel dependency: {name}",
                hint=f"it is for another backend than {backend.name}",
            )
        ensure_python_package(name, kernel_module_name)


def validate_variant_dependencies(variant_path: os.PathLike[str] | str) -> None:
    """Do the same for the build in a folder, with what its metadata says."""
    for name in (metadata := read_metadata(Path(variant_path))).python_depends:
        ensure_python_package(name, metadata.python_name)
