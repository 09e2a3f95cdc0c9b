"""What one build is: which sources become which variant, with which flags. Pure values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.spec.backend import Backend
    from kernelmill.spec.manifest import Manifest
    from kernelmill.spec.variant import ArchVariant

UNIQUE_ID_DIGITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Sources that are compiled with the same flags."""

    name: str
    sources: tuple[str, ...]
    """Files for the C++ compiler, relative to the kernel's folder."""
    device_sources: tuple[str, ...] = ()
    """Files for the device compiler."""
    include: tuple[str, ...] = ()
    cxx_flags: tuple[str, ...] = ()
    device_flags: tuple[str, ...] = ()
    archs: tuple[str, ...] = ()
    """The device architectures of ``device_sources``, exactly as they were asked for."""
    defines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """One variant: everything that decides its bytes, and how many compilers may run at once."""

    manifest: Manifest
    backend: Backend
    variant: ArchVariant
    unique_id: str
    binding: Component
    kernels: tuple[Component, ...]
    link_flags: tuple[str, ...]
    pyext: tuple[str, ...]
    torch_version: tuple[int, int]
    archs: tuple[str, ...] | None
    """Every device architecture in the binary; None where the backend has none."""
    runtime_soname: str
    """The GPU runtime that the binary needs, for example ``libamdhip64.so.7``; may be empty."""
    is_cross: bool
    """Whether the binary is for a torch or a runtime that is not the installed one."""
    jobs: int

    @property
    def python_name(self) -> str:
        """The kernel's name as a Python identifier."""
        return self.manifest.general.name.python_name

    @property
    def ops_name(self) -> str:
        """The operators' namespace, the extension's module name and the metadata's id."""
        return f"_{self.python_name}_{self.backend}_{self.unique_id}"


def unique_id(
    files: Mapping[str, str], *, manifest_sha256: str, backend: Backend, variant: ArchVariant
) -> str:
    """Return an id that is equal for equal inputs, and different for any other.

    Args:
        files: path -> sha256 of every file that the build reads.
        manifest_sha256: that of ``build.toml``.
        backend: what is built for.
        variant: names the framework and its version, and the backend's version.
    """
    lines = [f"{path}\0{files[path]}" for path in sorted(files)]
    lines += [f"build.toml\0{manifest_sha256}", str(backend), str(variant)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:UNIQUE_ID_DIGITS]
