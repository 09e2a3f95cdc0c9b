"""Whether an extension asks the dynamic linker for the right things, and for no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.binary.symbols import Linkage

_RUNTIME_PREFIX = "libamdhip64"


def check_linkage(linkage: Linkage, *, module: str, runtime_soname: str) -> tuple[Finding, ...]:
    """Find what would keep the extension from loading, or make it load a second GPU runtime.

    Args:
        linkage: of the extension.
        module: the name that Python imports it by.
        runtime_soname: the one GPU runtime that it may need; empty for none.
    """
    return (
        *_check_entry_point(linkage, module),
        *_check_search_path(linkage),
        *_check_runtime(linkage, runtime_soname),
    )


def _check_entry_point(linkage: Linkage, module: str) -> Iterator[Finding]:
    entry_point = f"PyInit_{module}"
    if all(symbol.name != entry_point for symbol in linkage.defined):
        yield Finding(
            problem=f"Python cannot import the extension: it has no {entry_point}",
            hint="end the binding with REGISTER_EXTENSION(TORCH_EXTENSION_NAME)",
        )


def _check_search_path(linkage: Linkage) -> Iterator[Finding]:
    for path in (*linkage.rpath, *linkage.runpath):
        yield Finding(
            problem=f"the extension has the library search path {path!r}",
            hint="it would bind libraries of the build machine; remove -rpath from the flags",
        )


def _check_runtime(linkage: Linkage, runtime_soname: str) -> Iterator[Finding]:
    runtimes = [name for name in linkage.needed if name.startswith(_RUNTIME_PREFIX)]
    for name in runtimes:
        if name != runtime_soname:
            yield Finding(problem=f"the extension needs {name}, want {runtime_soname or 'none'}")
    if runtime_soname and not runtimes:
        yield Finding(
            problem=f"the extension does not need {runtime_soname}: it launches nothing",
            hint="does the binding call a launcher in one of the kernel's device sources?",
        )
