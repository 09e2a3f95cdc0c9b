"""Which SDKs a release build of a variant needs. Pure: the same on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.matrix import dotted
from kernelmill.builder.sdk.store import is_within
from kernelmill.builder.targets import release_for
from kernelmill.spec.backend import Backend
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import ArchVariant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.spec.manifest import Manifest
    from kernelmill.spec.variant import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One SDK."""

    kind: str
    version: str
    """Or its beginning."""
    cuda: str = ""
    """The major version of the CUDA that it has to be made for, if any."""

    @property
    def name(self) -> str:
        """What to fetch."""
        return f"{self.kind}-{self.version}"

    def is_met_by(self, record: SdkRecord) -> bool:
        """Tell whether an SDK is what is needed."""
        made_for = record.facts.get("cuda", "").partition(".")[0]
        is_version = record.kind == self.kind and is_within(record.version, self.version)
        return is_version and self.cuda in {"", made_for}


ROOT: Final = Need(kind="cxx", version="12.2.0")
"""The root folder of every build."""
_COMMON: Final = (ROOT, Need(kind="tools", version="1"))
_COMPILED: Final = (*_COMMON, Need(kind="abi-stubs", version="2.28"))
_FIRST_NVCC: Final = (13, 0)
_CUTLASS: Final = "cutlass_"
_ZIG: Final = Need(kind="zig", version="0.17.1")


def needs_of(variant: Variant, depends: Iterable[str] = ()) -> tuple[Need, ...]:
    """Return what a build of ``variant`` needs.

    Args:
        variant: to build.
        depends: what the manifest's kernels for its backend depend on: ``cutlass_3_6``.
    """
    if not isinstance(variant, ArchVariant):
        return _COMMON
    needs = [*_COMPILED]
    cuda = variant.compute.version if variant.compute.backend is Backend.CUDA else None
    if variant.framework.kind == "tvm-ffi":
        needs.append(Need(kind="tvm-ffi", version=dotted(variant.framework.version)))
    else:
        major = str(cuda[0]) if cuda and variant.framework.kind != "torch-stable-abi" else ""
        needs.append(Need(kind="torch", version=release_for(variant), cuda=major))
    if cuda:
        needs += _needs_of_cuda(cuda)
        needs += [_cutlass(it) for it in dict.fromkeys(depends) if it.startswith(_CUTLASS)]
    if variant.compute.backend is Backend.ROCM:
        needs.append(_ZIG)
    return tuple(needs)


def _needs_of_cuda(version: tuple[int, int]) -> tuple[Need, ...]:
    """Return the toolkit, and the headers of NVIDIA's libraries, which ATen's include."""
    major = str(version[0])
    toolkit = (
        Need(kind="cuda", version=dotted(version)),
        Need(
            kind="cuda-math", version=f"{major}.0" if version >= _FIRST_NVCC else major, cuda=major
        ),
    )
    # NVIDIA's wheels of CUDA 12 hold no nvcc: clang compiles, and there is no SDK of it yet.
    return toolkit if version >= _FIRST_NVCC else (*toolkit, Need(kind="clang", version="19"))


def _cutlass(name: str) -> Need:
    return Need(kind="cutlass", version=name.removeprefix(_CUTLASS).replace("_", "."))


def depends_of(manifest: Manifest, variant: Variant) -> tuple[str, ...]:
    """Return what a manifest's kernels for a variant's backend depend on."""
    if not isinstance(variant, ArchVariant):
        return ()
    kernels = manifest.kernels_for(variant.compute.backend)
    return tuple(it for kernel in kernels for it in kernel.depends)
