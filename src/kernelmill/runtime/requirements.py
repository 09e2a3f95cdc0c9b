"""What a build asks of its user's installation, checked before its code is fetched or run."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING

from packaging.version import Version

from kernelmill.runtime.errors import MissingDependency, UnsupportedArch, UnsupportedKernel
from kernelmill.runtime.settings import API_VERSION
from kernelmill.spec.archs import check_archs
from kernelmill.spec.dependencies import PYTHON_DEPENDENCIES
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.spec.host import Device
    from kernelmill.spec.metadata import Metadata

log = logging.getLogger(__name__)


def ensure_supported(metadata: Metadata, *, variant: str) -> None:
    """Stop here unless this installation has what the build needs.

    Raises:
        UnsupportedKernel: it needs a newer ``kernels`` interface than ours, or other kernels.
        MissingDependency: a Python package is not installed.
        InputError: it names a package that no kernel may depend on.
    """
    needs = metadata.kernels_minver
    if needs and Version(needs) > Version(API_VERSION):
        raise UnsupportedKernel(
            f"Kernel '{metadata.name}' variant '{variant}' requires kernels>={needs}, but version "
            f"{API_VERSION} is installed",
            hint="upgrade kernelmill: in a new clone of it, pip install .",
        )
    if metadata.kernel_depends:
        names = ", ".join(str(each.repo_id) for each in metadata.kernel_depends)
        raise UnsupportedKernel(
            f"Kernel '{metadata.name}' variant '{variant}' depends on other kernels ({names}), "
            "which kernelmill does not load yet",
            hint="use a version of the kernel without such dependencies",
        )
    for name in metadata.python_depends:
        ensure_python_package(name, metadata.name)
    if metadata.provenance and metadata.provenance.kernel.is_dirty:
        log.warning(
            "Kernel '%s' variant '%s' was built from a dirty git tree", metadata.name, variant
        )


def ensure_python_package(name: str, kernel: str) -> None:
    """Stop here unless the package that a kernel calls ``name`` can be imported."""
    known = {each.name: each for each in PYTHON_DEPENDENCIES}
    if name not in known:
        raise InputError(
            f"Kernel module `{kernel}` uses unsupported kernel dependency: {name}",
            hint=f"a kernel may depend on {', '.join(known)}",
        )
    package, module = known[name].package, known[name].module
    if module is not None and find_spec(module) is None:
        raise MissingDependency(
            f"Kernel module `{kernel}` requires Python dependency `{package}`",
            hint=f"install it with: pip install {package}",
        )


def ensure_arch(metadata: Metadata, devices: Sequence[Device], *, variant: str) -> None:
    """Stop here unless the build has machine code for every device.

    Raises:
        UnsupportedArch: names the devices and what there is code for.
    """
    objection = check_archs(metadata.archs, metadata.backend, devices)
    if objection:
        raise UnsupportedArch(
            f"Kernel '{metadata.name}' variant '{variant}' does not support the current device: "
            f"{objection}",
            hint="pass `check_arch=False` to skip this check",
        )
