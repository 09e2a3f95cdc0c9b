"""Whether an extension asks the dynamic linker for the right things, and for no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding
from kernelmill.builder.check.search_path import check_search_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.binary.symbols import Linkage

_RUNTIME_PREFIXES = ("libamdhip64", "libcudart")
_OPTIONAL_PREFIX = "libcudart"
"""May be linked statically, or be done without by kernels that use the driver's own interface."""
_TORCH_PREFIXES = ("libtorch", "libc10")
_TVM_FFI_PREFIX = "__tvm_ffi_"
_CXX_RUNTIME = "libstdc++.so.6"


def check_linkage(linkage: Linkage, *, module: str, runtime_soname: str) -> tuple[Finding, ...]:
    """Find what would keep the extension from loading, or make it load a second GPU runtime.

    Args:
        linkage: of the extension.
        module: the name that Python imports it by; empty for what Python does not import.
        runtime_soname: the one GPU runtime that it may need; empty for none.
    """
    return (
        *_check_entry_point(linkage, module),
        *check_search_path(linkage),
        *_check_runtime(linkage, runtime_soname),
        *_check_cxx_runtime(linkage),
    )


def check_tvm_ffi(linkage: Linkage) -> tuple[Finding, ...]:
    """Find out whether TVM FFI would find a function in the extension."""
    if any(symbol.name.startswith(_TVM_FFI_PREFIX) for symbol in linkage.defined):
        return ()
    return (
        Finding(
            problem="the extension exports no function for TVM FFI",
            hint="export each with TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, function)",
        ),
    )


def _check_entry_point(linkage: Linkage, module: str) -> Iterator[Finding]:
    entry_point = f"PyInit_{module}"
    if module and all(symbol.name != entry_point for symbol in linkage.defined):
        yield Finding(
            problem=f"Python cannot import the extension: it has no {entry_point}",
            hint="end the binding with REGISTER_EXTENSION(TORCH_EXTENSION_NAME)",
        )


def _check_runtime(linkage: Linkage, runtime_soname: str) -> Iterator[Finding]:
    runtimes = [name for name in linkage.needed if name.startswith(_RUNTIME_PREFIXES)]
    for name in runtimes:
        if name != runtime_soname:
            yield Finding(problem=f"the extension needs {name}, want {runtime_soname or 'none'}")
    if runtime_soname and not runtimes and not runtime_soname.startswith(_OPTIONAL_PREFIX):
        yield Finding(
            problem=f"the extension does not need {runtime_soname}: it launches nothing",
            hint="does the binding call a launcher in one of the kernel's device sources?",
        )


def _check_cxx_runtime(linkage: Linkage) -> Iterator[Finding]:
    # Two C++ runtimes in one process: the second one's streams crash at the first message with a
    # number in it. Seen where the compiler found libstdc++.a and no libstdc++.so.
    uses_torch = any(name.startswith(_TORCH_PREFIXES) for name in linkage.needed)
    if uses_torch and _CXX_RUNTIME not in linkage.needed:
        yield Finding(
            problem=f"the extension does not need {_CXX_RUNTIME}: it brings a C++ runtime of its "
            "own, and torch has loaded another",
            hint="remove -static-libstdc++, or install the C++ compiler's shared libstdc++",
        )
