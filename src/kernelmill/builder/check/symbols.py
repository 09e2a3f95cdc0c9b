"""Whether somebody is known to bring every library and every unversioned symbol that is wanted.

A symbol of the system's libraries carries a version, which the manylinux policy judges. One without
a version is bound to whoever happens to have the name, and a linker that was given stubs leaves it
behind in silence: it has to belong to somebody who is known.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, TypedDict, cast

from kernelmill.builder.check import Finding
from kernelmill.builder.check.policies import read_data
from kernelmill.builder.check.python_abi import PYTHON_SYMBOL
from kernelmill.builder.check.torch_abi import SHIM_SYMBOL, is_torch_cxx
from kernelmill.builder.wording import some_of
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kernelmill.binary.symbols import Linkage

_LINKER: Final = re.compile(r"ld-linux[\w-]*\.so\.\d+")
_TORCH_C: Final = re.compile(r"_Z\d+THP\w+|THP\w+")


class _Document(TypedDict):
    symbols: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A family of libraries that are there when a kernel is loaded, and how their names look."""

    name: str
    libraries: re.Pattern[str]
    symbols: re.Pattern[str]


def _provider(name: str, libraries: str, symbols: str) -> Provider:
    return Provider(name=name, libraries=re.compile(libraries), symbols=re.compile(symbols))


TORCH: Final = _provider("PyTorch", r"lib(torch|c10|shm)(_\w+)?\.so", r"(?!)")  # see _is_of_torch
OPENMP: Final = _provider(
    "OpenMP", r"lib(gomp|omp|iomp5)(\.so\.\d+|\.so)", r"(GOMP|omp|__kmpc|kmp)_\w+"
)
PROVIDERS: Final = (
    TORCH,
    _provider("tvm-ffi", r"libtvm_ffi\.so", r"TVMFFI\w+|_ZN3tvm3ffi\w+"),
    _provider(
        "CUDA",
        r"lib(cudart|cuda|cublas|cublasLt|cudnn\w*|cufft|curand|cusolver|cusparse|cusparseLt|nccl"
        r"|nvJitLink|nvrtc|nvToolsExt)\.so\.\d+",
        r"_*cu(da)?[A-Z]\w*|(cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvJitLink|nvrtc|nvtx)"
        r"[A-Z]\w*",
    ),
    _provider(
        "ROCm",
        r"lib(amdhip64|hipblas|hipblaslt|hipfft|hiprtc|hipsparse|hsa-runtime64|MIOpen|rccl|rocblas"
        r"|roctx64)\.so\.\d+",
        r"_*hip[A-Z]\w*|(hipblas|hipfft|hiprtc|hipsparse|miopen|nccl|roctx)[A-Z]\w*"
        r"|(rocblas|hsa)_\w+",
    ),
    _provider(
        "SYCL",
        r"lib(sycl|ze_loader|OpenCL)\.so\.\d+",
        r"_ZNK?4sycl\w+|_ZT[VIS]N4sycl\w+|__sycl\w+|ze[A-Z]\w*",
    ),
    OPENMP,
)


def check_symbols(
    linkage: Linkage, *, system: Collection[str], torch: Collection[str] | None = None
) -> tuple[Finding, ...]:
    """Find libraries and symbols that nobody who is known brings.

    Args:
        linkage: of the binary.
        system: sonames that every system has.
        torch: every symbol that the PyTorch at hand offers; None to go by the look of names.
    """
    return (
        *_check_libraries(linkage, system),
        *_check_unversioned(linkage, torch),
    )


def _check_libraries(linkage: Linkage, system: Collection[str]) -> Iterator[Finding]:
    for soname in linkage.needed:
        known = soname in system or _LINKER.fullmatch(soname)
        if not known and not any(it.libraries.fullmatch(soname) for it in PROVIDERS):
            yield Finding(
                problem=f"the binary needs {soname}, which neither systems nor PyTorch bring",
                hint="link it statically, or do without",
            )


def _check_unversioned(linkage: Linkage, torch: Collection[str] | None) -> Iterator[Finding]:
    present = _present(linkage)
    runtime = read_cxx_runtime() if TORCH in present else frozenset()
    unknown, missing = [], []
    for reference in linkage.undefined:
        name = reference.name
        if reference.version or reference.is_weak or PYTHON_SYMBOL.fullmatch(name):
            continue
        if _is_of_torch(name):
            missing += [name] if torch is not None and name not in torch else []
        elif name not in runtime and not any(it.symbols.fullmatch(name) for it in present):
            unknown.append(name)
    if unknown:
        yield Finding(
            problem=f"nobody is known to bring {some_of(unknown)}",
            hint="link the library that defines it; was one replaced by a stub?",
        )
    if missing:
        yield Finding(
            problem=f"the PyTorch at hand does not export {some_of(missing)}",
            hint="build against that PyTorch",
        )


def _present(linkage: Linkage) -> list[Provider]:
    found = [it for it in PROVIDERS if any(map(it.libraries.fullmatch, linkage.needed))]
    # PyTorch has loaded an OpenMP library of its own, which a kernel does better not to name.
    return [*found, OPENMP] if TORCH in found else found


def _is_of_torch(name: str) -> bool:
    is_c = SHIM_SYMBOL.fullmatch(name) or _TORCH_C.fullmatch(name)
    return bool(is_c) or is_torch_cxx(name)


@cache
def read_cxx_runtime() -> frozenset[str]:
    """Return what every PyTorch exports of the C++ library: newer parts, for older systems.

    A linker takes them from there, without a version, where it meets PyTorch's libraries first.
    """
    document = cast("_Document", read_data("torch_cxx_runtime.json"))
    return frozenset(document["symbols"])
