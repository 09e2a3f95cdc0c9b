"""Turn a compiler's complaint about missing parts of CUDA into one line that says what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cuda.errors import CudaArchError, CudaSourceError, CudaToolchainError

if TYPE_CHECKING:
    from kernelmill.spec.errors import KernelError

_MATH: Final = re.compile(r"(cublas|cusparse|cusolver|curand)\w*\.h")
_CUTLASS: Final = re.compile(r"(cutlass|cute)/.+")
_HEADER: Final = re.compile(
    r"^(?P<file>[^\s:(][^:\n(]*)[:(](?P<line>\d+)(?:\):|:(?:\d+:)?) *"
    r"(?:catastrophic |fatal )error: "
    r"(?:cannot open source file \"(?P<nvcc>[^\"]+)\"|'(?P<clang>[^']+)' file not found"
    r"|(?P<gcc>[^:\n]+): No such file or directory)",
    re.MULTILINE,
)
_ARCH: Final = re.compile(r"Unsupported gpu architecture '(?:compute|sm)_(?P<arch>\w+)'")
_HOST: Final = re.compile(r"#error -- (?P<problem>unsupported \w+ version! [^!]+ not supported)!")


def explain_failure(text: str) -> KernelError | None:
    """Return what a failed compilation lacks, or ``None`` if it failed for another reason.

    Args:
        text: what nvcc, clang or the host's compiler printed.
    """
    return _explain_header(text) or _explain_arch(text) or _explain_host(text)


def _explain_header(text: str) -> KernelError | None:
    for match in _HEADER.finditer(text):
        header = match["nvcc"] or match["clang"] or match["gcc"]
        if _MATH.fullmatch(header):
            what, hint = "of CUDA's libraries", "kernel-builder sdk fetch cuda-math-13.0"
        elif _CUTLASS.fullmatch(header):
            what, hint = "of CUTLASS", 'name it in the kernel, such as depends = ["cutlass_3_8"]'
        else:
            continue
        return CudaSourceError(
            f"{header!r} is a header {what}, which the CUDA toolkit of this build does not have",
            where=f"{match['file']}:{match['line']}",
            hint=hint,
        )
    return None


def _explain_arch(text: str) -> KernelError | None:
    match = _ARCH.search(text)
    return match and CudaArchError(
        f"the compiler cannot target {match['arch']!r}",
        hint="correct cuda-capabilities or cuda-flags in build.toml, or build for a newer CUDA",
    )


def _explain_host(text: str) -> KernelError | None:
    match = _HOST.search(text)
    return match and CudaToolchainError(
        match["problem"], hint="set CXX to a compiler that it takes"
    )
