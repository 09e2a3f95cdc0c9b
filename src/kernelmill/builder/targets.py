"""Which torch a variant is compiled against: the installed one where it fits, else an SDK's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError, SdkMissing
from kernelmill.builder.matrix import dotted, load_matrix
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.builder.sdk.store import missing
from kernelmill.builder.toolchain.torch import torch_of_sdk
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from kernelmill.builder.sdk.store import Store
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.builder.toolchain.torch import TorchTarget
    from kernelmill.spec.variant import ArchVariant

_STABLE = "torch-stable-abi"
_PYPI_CUDA = 13
"""What PyPI's wheels of PyTorch are for, since 2.11; their names do not say so."""


def find_target(variant: ArchVariant, toolchain: Toolchain, store: Store) -> TorchTarget:
    """Return the torch to compile ``variant`` against.

    Raises:
        PlanError: this machine builds for another platform.
        SdkMissing: it is neither installed nor in the store; the hint says how to get it.
    """
    if (variant.cpu, variant.os) != (toolchain.cpu, "linux"):
        raise PlanError(
            f"cannot build {variant}: this machine builds for {toolchain.cpu}-linux",
            hint=f"build it on {variant.cpu}-{variant.os}",
        )
    installed = toolchain.torch
    if installed is not None and _fits(installed, variant):
        return installed
    stored = [
        torch_of_sdk(it, python=toolchain.python)
        for it in store.installed()
        if it.record.kind == "torch" and it.record.platform == f"{variant.cpu}-{variant.os}"
    ]
    fitting = [it for it in stored if _fits(it, variant)]
    if not fitting:
        raise _missing(variant, stored)
    if variant.framework.kind == _STABLE:
        # The oldest of those that are new enough.
        return min(fitting, key=lambda it: it.release.series)
    return fitting[-1]


def _missing(variant: ArchVariant, stored: list[TorchTarget]) -> SdkMissing:
    release, cuda = release_for(variant), variant.compute.version
    others = [it for it in stored if it.release.series == variant.framework.version]
    if (
        variant.compute.backend is not Backend.CUDA
        or cuda is None
        or variant.framework.kind == _STABLE
    ):
        return missing("torch", release)
    if not others:
        return missing("torch", _release_for_cuda(release, cuda))
    made_for = " and ".join(f"CUDA {it.cuda}" if it.cuda else "the CPU" for it in others)
    name = f"torch-{_flavour(release, cuda)}"
    return SdkMissing(
        f"the SDKs of torch {release} that are here are for {made_for}, not for CUDA {cuda[0]}",
        hint=f"kernel-builder sdk fetch {name}; with --from FOLDER where no index has that wheel",
        name=name,
    )


def _release_for_cuda(release: str, cuda: tuple[int, ...]) -> str:
    """Return the release as ``sdk fetch`` finds one that is for a CUDA of this major version."""
    files = known_inputs().get("torch", {}).get(release, ())
    is_on_pypi = any("+" not in it.file for it in files)
    return release if cuda[0] == _PYPI_CUDA and is_on_pypi else _flavour(release, cuda)


def _flavour(release: str, cuda: tuple[int, ...]) -> str:
    """Return the release with its CUDA: one whose files are known, where the major will do."""
    known = known_inputs().get("torch", {})
    usual = f"{release}+cu{cuda[0]}{cuda[1]}"
    return (
        usual
        if usual in known
        else next((it for it in known if it.startswith(f"{release}+cu{cuda[0]}")), usual)
    )


def release_for(variant: ArchVariant) -> str:
    """Return the release of PyTorch whose headers ``variant`` is compiled against."""
    version, is_stable = variant.framework.version, variant.framework.kind == _STABLE
    for series in load_matrix().series:
        if series.version == version or (is_stable and series.version > version):
            return series.release
    return dotted(version)


def _fits(target: TorchTarget, variant: ArchVariant) -> bool:
    framework, compute = variant.framework, variant.compute
    if framework.kind == _STABLE:
        return target.release.series >= framework.version
    is_right_abi = (
        target.release.series == framework.version and target.has_cxx11_abi == framework.cxx11_abi
    )
    if compute.backend is not Backend.CUDA or compute.version is None:
        return is_right_abi
    # Its headers name the CUDA they were made with, and its libraries are linked.
    return is_right_abi and target.cuda.partition(".")[0] == str(compute.version[0])
