"""What a build asks of its user's installation, checked before its code is fetched or run."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kernelmill.runtime.errors import MissingDependency, UnsupportedArch, UnsupportedKernel
from kernelmill.runtime.settings import API_VERSION
from kernelmill.spec.archs import Policy, check_archs
from kernelmill.spec.dependencies import PYTHON_DEPENDENCIES
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.spec.host import Device
    from kernelmill.spec.metadata import Metadata

ArchCheck = bool | Policy
"""What callers pass as ``check_arch``: whether each device has to fit, or ``"any"`` is enough."""

log = logging.getLogger(__name__)


def ensure_supported(metadata: Metadata, *, variant: str) -> None:
    """Stop here unless this installation has what the build needs, apart from other kernels.

    Raises:
        UnsupportedKernel: it needs a newer ``kernels`` interface than ours.
        MissingDependency: a Python package is not installed.
        InputError: it names a package that no kernel may depend on.
    """
    ensure_interface(metadata, API_VERSION, variant=variant)
    for name in metadata.python_depends:
        ensure_python_package(name, metadata.python_name)
    warn_of_dirty_sources(metadata, variant=variant)


def warn_of_dirty_sources(metadata: Metadata, *, variant: str) -> None:
    """Say in the log when the sources of a build were not committed."""
    if sources := dirty_sources(metadata):
        log.warning(
            "Kernel '%s' variant '%s' was built from a dirty git tree (%s had uncommitted "
            "changes). The commit that it names is not all that it was built from.",
            metadata.name,
            variant,
            ", ".join(sources),
        )


def ensure_interface(metadata: Metadata, installed: str, *, variant: str) -> None:
    """Stop here unless the ``kernels`` interface of version ``installed`` is new enough.

    Only the numbers count: ``0.17.0.dev0`` has what 0.17.0 has. A version that is none (somebody's
    own build) is never too old.
    """
    needs = metadata.kernels_minver
    if needs is None:
        return
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - few kernels ask

    try:
        has = Version(installed)
    except InvalidVersion:
        return
    if Version(has.base_version) < Version(needs):
        raise UnsupportedKernel(
            f"Kernel '{metadata.name}' variant '{variant}' requires kernels>={needs}, but version "
            f"{installed} is installed.",
            hint="upgrade kernelmill: in a new clone of it, pip install .",
        )


def dirty_sources(metadata: Metadata) -> tuple[str, ...]:
    """Name what held uncommitted changes when the build was made."""
    if metadata.provenance is None:
        return ()
    states = {
        "kernel source": metadata.provenance.kernel,
        "kernel-builder": metadata.provenance.kernel_builder,
    }
    return tuple(name for name, state in states.items() if state.is_dirty)


def ensure_python_package(name: str, module: str) -> None:
    """Stop here unless the package that a kernel calls ``name`` can be imported.

    Args:
        name: as the kernel's metadata writes it.
        module: the kernel's Python name, for the message.
    """
    known = {each.name: each for each in PYTHON_DEPENDENCIES}
    if name not in known:
        raise InputError(
            f"Kernel module `{module}` uses unsupported kernel dependency: {name}",
            hint=f"a kernel may depend on {', '.join(known)}",
        )
    package, imported = known[name].package, known[name].module
    if imported is not None and find_spec(imported) is None:
        raise MissingDependency(
            f"Kernel module `{module}` requires Python dependency `{package}`. Please install "
            f"with: pip install {package}",
            hint=f"pip install {package}",
        )


def policy_of(check_arch: ArchCheck) -> Policy | None:
    """Return which devices a build has to fit; None where nobody asks."""
    if isinstance(check_arch, bool):
        return "all" if check_arch else None
    if check_arch not in {"all", "any"}:
        raise InputError(
            f"check_arch is {check_arch!r}",
            hint='pass True or "all" for every device, "any" for at least one, False for none',
        )
    return check_arch


def ensure_arch(
    metadata: Metadata, devices: Sequence[Device], *, variant: str, policy: Policy = "all"
) -> None:
    """Stop here unless the build has machine code for every device, or for any.

    Raises:
        UnsupportedArch: names the devices and what there is code for.
    """
    objection = check_archs(metadata.archs, metadata.backend, devices, policy=policy)
    if objection:
        raise UnsupportedArch(
            f"Kernel '{metadata.name}' variant '{variant}' does not support the current device: "
            f"{objection}",
            hint='hide the devices that it is not for, or pass `check_arch`: "any" if it will '
            "run on one that fits, False to skip this check",
        )
