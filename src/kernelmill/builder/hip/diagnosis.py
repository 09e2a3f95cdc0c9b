"""Turn a compiler's complaint about missing parts of HIP into one line that says what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.hip.errors import HipSourceError, UnsupportedArchError
from kernelmill.builder.hip.project import header_names

if TYPE_CHECKING:
    from kernelmill.spec.errors import KernelError

SDK_HEADER: Final = re.compile(
    r"(hip|hipblas|hipblaslt|hipcub|hiprand|hipsparse|hipsolver|hipfft|rocblas|rocprim|rocrand|"
    r"rocthrust|rocwmma|thrust|rccl|miopen|ck|ck_tile|hsa|composable_kernel|__clang_hip)\b"
)
"""First part of the path of headers that a ROCm SDK brings."""
_OWN_HEADERS: Final = (
    "this version compiles against its own HIP headers only, with or without a ROCm SDK"
)

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
    return _explain_header(stderr) or _explain_name(stderr) or _explain_arch(stderr)


def _explain_header(stderr: str) -> KernelError | None:
    for match in _HEADER.finditer(stderr):
        header = match["clang"] or match["gcc"]
        if SDK_HEADER.match(header):
            return HipSourceError(
                f"{header!r} is part of a ROCm SDK, which is not used: {_OWN_HEADERS}",
                where=f"{match['file']}:{match['line']}",
                hint=f"remove the include; there are {', '.join(header_names())}",
            )
    return None


def _explain_name(stderr: str) -> KernelError | None:
    match = _NAME.search(stderr)
    return match and HipSourceError(
        f"{match['name']!r} is not among the HIP names that there are: {_OWN_HEADERS}",
        where=f"{match['file']}:{match['line']}",
        hint="remove the use of it; the beginning of hip/hip_runtime.h lists the names",
    )


def _explain_arch(stderr: str) -> KernelError | None:
    match = _ARCH.search(stderr)
    return match and UnsupportedArchError(
        f"{match['arch']!r} is not an architecture that the compiler can target",
        hint="correct rocm-archs in build.toml, or install a newer compiler",
    )
