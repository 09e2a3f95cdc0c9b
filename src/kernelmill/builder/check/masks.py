"""Warp masks of 32 bits in code that is compiled for AMD, where a wave may have 64 lanes (C3).

HIP refuses such a mask while it compiles, in a message of its own headers; or it takes it, and half
of the wave is left out. This says which line it is before anything is compiled.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_Branch = Literal["nvidia", "amd", "both"]

_MASK: Final = (
    r"(?:0[xX][fF]{8}[uUlL]*|~\s*0[uU]?|UINT32_MAX|UINT_MAX"
    r"|\(?\s*(?:unsigned(?:\s+int)?|uint32_t)\s*\)?\s*\(?-1\)?)"
)
_CALL: Final = re.compile(
    r"\b(?P<name>__(?:shfl(?:_up|_down|_xor)?|ballot|any|all|uni|match_any|match_all|reduce_\w+)_sync"
    rf"|__syncwarp)\s*\(\s*(?P<mask>{_MASK})(?!\w)"
)
_CONSTANT: Final = re.compile(
    r"(?:#\s*define\s+(?P<macro>\w*MASK\w*)\s+|\b(?P<variable>\w*[mM]ask\w*|\w*MASK\w*)\s*=\s*)"
    rf"\(?(?P<mask>{_MASK})(?!\w)"
)
_COMMENT: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
_FOR_NVIDIA: Final = re.compile(
    r"#\s*(?:if\s+(?:!\s*defined\s*\(?\s*(?:USE_ROCM|__HIP__|__HIP_PLATFORM_AMD__|__HIPCC__)"
    r"|defined\s*\(?\s*(?:USE_CUDA|__CUDA_ARCH__|__CUDACC__|CUDA_KERNEL))"
    r"|ifndef\s+(?:USE_ROCM|__HIP__|__HIP_PLATFORM_AMD__|__HIPCC__)"
    r"|ifdef\s+(?:USE_CUDA|__CUDA_ARCH__|CUDA_KERNEL))"
)
_FOR_AMD: Final = re.compile(
    r"#\s*(?:if\s+defined\s*\(?\s*(?:USE_ROCM|__HIP__|__HIP_PLATFORM_AMD__|__HIPCC__|ROCM_KERNEL)"
    r"|ifdef\s+(?:USE_ROCM|__HIP__|__HIP_PLATFORM_AMD__|__HIPCC__|ROCM_KERNEL))"
)
_OTHER: Final[dict[_Branch, _Branch]] = {"nvidia": "amd", "amd": "nvidia", "both": "both"}
_HINT: Final = "write a 64-bit mask for AMD: 0xffffffffffffffffull"


def check_masks(sources: Mapping[str, str]) -> tuple[Finding, ...]:
    """Find 32-bit masks in sources for AMD.

    Args:
        sources: path -> text; parts that only NVIDIA's compiler sees are passed over.
    """
    return tuple(
        Finding(problem=f"{path}:{line}: {problem}", hint=_HINT)
        for path, text in sorted(sources.items())
        for line, problem in _in_file(text)
    )


def _in_file(text: str) -> Iterator[tuple[int, str]]:
    lines = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text).splitlines()
    branches: list[_Branch] = []
    for number, line in enumerate(lines, 1):
        _follow(line.strip(), branches)
        if "nvidia" in branches:
            continue
        # A call is often broken over lines: its mask is on its first or its second.
        following = lines[number].strip() if number < len(lines) else ""
        joined = f"{line.rstrip()} {following}" if line.rstrip().endswith("(") else line
        for match in _CALL.finditer(joined):
            yield number, f"{match['name']} with the 32-bit mask {match['mask'].strip()}"
        for match in _CONSTANT.finditer(line):
            name = match["macro"] or match["variable"]
            yield number, f"{name} is the 32-bit mask {match['mask'].strip()}"


def _follow(directive: str, branches: list[_Branch]) -> None:
    """Keep, for each open ``#if``, for whom what follows is."""
    if re.match(r"#\s*if", directive):
        for_nvidia = _FOR_NVIDIA.match(directive)
        branches.append("nvidia" if for_nvidia else "amd" if _FOR_AMD.match(directive) else "both")
    elif branches and re.match(r"#\s*el", directive):
        branches[-1] = _OTHER[branches[-1]]
    elif branches and re.match(r"#\s*endif", directive):
        branches.pop()
