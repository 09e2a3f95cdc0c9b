"""Whether a binary reaches for libraries of the machine that built it (L10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.binary.symbols import Linkage

_BESIDE: Final = ("$ORIGIN", "${ORIGIN}")
_OPENERS: Final = frozenset({"dlopen", "dlmopen"})
_UNVERSIONED: Final = ("libamdhip64.so", "libcudart.so", "libhsa-runtime64.so")


def check_search_path(linkage: Linkage) -> Iterator[Finding]:
    """Find library search paths that are not relative to the binary itself."""
    for path in (*linkage.rpath, *linkage.runpath):
        if not path.startswith(_BESIDE):
            yield Finding(
                problem=f"the extension has the library search path {path!r}",
                hint="it would bind libraries of the build machine; remove -rpath from the flags",
            )


def check_opened_libraries(linkage: Linkage, data: bytes) -> Iterator[Finding]:
    """Find GPU runtimes that the binary opens by a name without a version.

    The name is another one than PyTorch's own runtime has, so a second runtime may be mapped.

    Args:
        linkage: of the binary.
        data: all of its bytes.
    """
    if not any(it.name in _OPENERS for it in linkage.undefined):
        return
    for name in _UNVERSIONED:
        if b"\0" + name.encode() + b"\0" in data:
            yield Finding(
                problem=f"the extension opens {name} by a name without a version",
                hint="link the runtime, or open the soname that PyTorch has loaded",
            )
