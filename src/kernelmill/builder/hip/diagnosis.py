"""Turn a compiler's complaint about missing parts of HIP into one line that says what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.hip.errors import HipSourceError, UnsupportedArchError
from kernelmill.builder.hip.project import header_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.spec.errors import KernelError

SDK_HEADER: Final = re.compile(
    r"(hip|hipblas|hipblaslt|hipcub|hiprand|hipsparse|hipsolver|hipfft|rocblas|rocprim|rocrand|"
    r"rocthrust|rocwmma|thrust|rccl|miopen|ck|ck_tile|hsa|composable_kernel|__clang_hip)\b"
)
"""First part of the path of headers that a ROCm SDK brings."""
_LEFTOVER: Final = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): error: "
    r"'(?P<name>[^'\n]+)' has no counterpart in HIP$",
    re.MULTILINE,
)
_SHOWN: Final = 10
"""Names in one message."""

_PLACE = r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: "
_HEADER = re.compile(
    _PLACE + r"(?:'(?P<clang>[^']+)' file not found|(?P<gcc>[^:\n]+): No such file or directory)",
    re.MULTILINE,
)
_NAME = re.compile(
    _PLACE + r"(?:use of undeclared identifier|unknown type name|no template named|"
    r"no member named) '(?P<name>_*hip\w+|__\w+|atomic[A-Z]\w*|rocwmma\w*)'",
    re.MULTILINE,
)
_ARCH = re.compile(
    r"error: (?:unsupported HIP gpu architecture: |invalid target ID ')(?P<arch>[^\s']+)"
)


def explain_failure(stderr: str) -> KernelError | None:
    """Return what a failed cross-compilation lacks, or ``None`` if it failed for another reason.

    Args:
        stderr: what the compiler (clang or g++) or Ninja printed.
    """
    return (
        _explain_leftovers(stderr)
        or _explain_header(stderr)
        or _explain_names(stderr)
        or _explain_arch(stderr)
    )


def _explain_leftovers(stderr: str) -> KernelError | None:
    """Return what the translator of CUDA sources said: all of it."""
    found = list(_LEFTOVER.finditer(stderr))
    if not found:
        return None
    return HipSourceError(
        f"CUDA that has no counterpart in HIP: {_list_places(found)}",
        where=f"{found[0]['file']}:{found[0]['line']}",
        hint="write it for HIP too, between #if defined(USE_ROCM) and #else",
    )


def _list_places(found: Sequence[re.Match[str]]) -> str:
    """Return each name once, with its first place."""
    first = {match["name"]: match for match in reversed(found)}
    names = [f"{name!r} ({it['file']}:{it['line']})" for name, it in reversed(first.items())]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _explain_header(stderr: str) -> KernelError | None:
    for match in _HEADER.finditer(stderr):
        header = match["clang"] or match["gcc"]
        if SDK_HEADER.match(header):
            return HipSourceError(
                f"{header!r} is not among the HIP headers that this build compiles against",
                where=f"{match['file']}:{match['line']}",
                hint=f"a ROCm SDK brings it: set ROCM_PATH; without one there are "
                f"{', '.join(header_names())}",
            )
    return None


def _explain_names(stderr: str) -> KernelError | None:
    found = list(_NAME.finditer(stderr))
    if not found:
        return None
    listing = _list_places(found)
    return HipSourceError(
        f"not among the HIP names that this build compiles against: {listing}",
        where=f"{found[0]['file']}:{found[0]['line']}",
        hint="a ROCm SDK brings it: set ROCM_PATH; docs/rocm.md lists what there is without one",
    )


def _explain_arch(stderr: str) -> KernelError | None:
    match = _ARCH.search(stderr)
    return match and UnsupportedArchError(
        f"{match['arch']!r} is not an architecture that the compiler can target",
        hint="correct rocm-archs in build.toml, or install a newer compiler",
    )
