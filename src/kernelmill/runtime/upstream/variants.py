"""Build variants and what was decided about them, in the shape of the original's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from kernelmill.runtime import api
from kernelmill.runtime.probe import probe_host
from kernelmill.runtime.selection import builds_folder
from kernelmill.runtime.upstream.accelerators import Accelerator, accelerator_of
from kernelmill.spec import variant as spec
from kernelmill.spec.backend import Backend
from kernelmill.spec.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Torch:
    """Linked against one release of PyTorch."""

    version: Version
    cxx11_abi: bool | None

    @property
    def variant_str(self) -> str:
        """How folders of builds spell it."""
        return str(_framework("torch", self.version, self.cxx11_abi))


@dataclass(frozen=True)
class TorchStableAbi:
    """Linked against PyTorch's stable ABI."""

    version: Version

    @property
    def variant_str(self) -> str:
        """How folders of builds spell it."""
        return str(_framework("torch-stable-abi", self.version))


@dataclass(frozen=True)
class TvmFfi:
    """Linked against TVM FFI."""

    version: Version

    @property
    def variant_str(self) -> str:
        """How folders of builds spell it."""
        return str(_framework("tvm-ffi", self.version))


@dataclass(frozen=True)
class TorchNoarch:
    """Python that uses any PyTorch."""

    @property
    def variant_str(self) -> str:
        """How folders of builds spell it."""
        return "torch"


@dataclass(frozen=True)
class Arch:
    """What machine code was built for."""

    backend: Accelerator
    platform: str
    os: str

    @property
    def variant_str(self) -> str:
        """How folders of builds spell it."""
        return f"{self.backend.variant_str}-{self.platform}-{self.os}"


@dataclass(frozen=True)
class Noarch:
    """The backend that Python code is for, or ``universal``."""

    backend_name: str

    @property
    def variant_str(self) -> str:
        """How folders of builds spell it."""
        return self.backend_name


@dataclass(frozen=True)
class ArchVariant:
    """A build with machine code."""

    framework: Torch | TorchStableAbi | TvmFfi
    arch: Arch

    @property
    def variant_str(self) -> str:
        """The name of its folder."""
        return f"{self.framework.variant_str}-{self.arch.variant_str}"

    def __str__(self) -> str:
        return self.variant_str


@dataclass(frozen=True)
class NoarchVariant:
    """A build in pure Python."""

    framework: TorchNoarch
    arch: Noarch

    @property
    def variant_str(self) -> str:
        """The name of its folder."""
        return f"{self.framework.variant_str}-{self.arch.variant_str}"

    def __str__(self) -> str:
        return self.variant_str


Variant = ArchVariant | NoarchVariant


@dataclass(frozen=True)
class VariantAccepted:
    """A build that fits this machine."""

    variant: Variant


@dataclass(frozen=True)
class VariantRejected:
    """A build that does not fit this machine, and why."""

    variant: Variant
    reason: str


Decision = VariantAccepted | VariantRejected


def _framework(
    kind: spec.FrameworkKind, version: Version, cxx11_abi: bool | None = None
) -> spec.Framework:
    numbers = (version.major, version.minor)
    return spec.Framework(kind=kind, version=numbers, cxx11_abi=cxx11_abi)


def variant_of(variant: spec.Variant) -> Variant:
    """Return a variant of ``spec`` in this shape."""
    if isinstance(variant, spec.NoarchVariant):
        return NoarchVariant(TorchNoarch(), Noarch(variant.name))
    version = Version(".".join(map(str, variant.framework.version)))
    framework: Torch | TorchStableAbi | TvmFfi
    match variant.framework.kind:
        case "torch":
            framework = Torch(version, variant.framework.cxx11_abi)
        case "torch-stable-abi":
            framework = TorchStableAbi(version)
        case "tvm-ffi":
            framework = TvmFfi(version)
    return ArchVariant(framework, Arch(accelerator_of(variant.compute), variant.cpu, variant.os))


def parse_variant(variant_str: str) -> Variant:
    """Read the name of a folder of builds.

    Raises:
        InvalidVariant: it is none; a ``ValueError``.
    """
    return variant_of(spec.parse_variant(variant_str))


def get_kernel_variants(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
) -> list[Decision]:
    """Return every build of a kernel, best first, and why each unfit one is unfit."""
    found = api.get_kernel_variants(repo_id, revision=revision, version=version, backend=backend)
    return [
        VariantRejected(variant_of(it.variant), it.reason)
        if isinstance(it, api.VariantRejected)
        else VariantAccepted(variant_of(it.variant))
        for it in found
    ]


def get_variants_local(repo_path: Path) -> list[Variant]:
    """Return the builds in a folder, by name."""
    names = [it.name for it in builds_folder(repo_path).iterdir() if it.is_dir()]
    return [variant_of(it.variant) for it in resolve(names, probe_host()).trace]


def resolve_variants(
    variants: Sequence[Variant], backend: str | None = None
) -> tuple[list[Variant], list[Decision]]:
    """Return those that fit this machine, best first, and what was decided about each."""
    host = probe_host()
    if backend is not None:
        host = host.with_backend(Backend.parse(backend, where="backend"))
    trace: list[Decision] = [
        VariantRejected(variant_of(it.variant), it.objection)
        if it.objection
        else VariantAccepted(variant_of(it.variant))
        for it in resolve((it.variant_str for it in variants), host).trace
    ]
    return [it.variant for it in trace if isinstance(it, VariantAccepted)], trace


def resolve_variant(
    variants: Sequence[Variant], backend: str | None = None
) -> tuple[Variant | None, list[Decision]]:
    """Return the best for this machine, and what was decided about each."""
    fits, trace = resolve_variants(variants, backend)
    return (fits[0] if fits else None), trace


_FITS: Final = (" compatible, preferred ✅", " compatible ✅")


def variants_trace_str(trace: Sequence[Decision]) -> str:
    """Return one line per build, with the reason for each that does not fit."""
    best = next((it.variant for it in trace if isinstance(it, VariantAccepted)), None)
    return "\n".join(
        f"{it.variant.variant_str}: {it.reason}"
        if isinstance(it, VariantRejected)
        else f"{it.variant.variant_str}{_FITS[it.variant is not best]}"
        for it in trace
    )
