"""What the dynamic linker's complaints mean for somebody who only wanted to load a kernel."""

from __future__ import annotations

import re
from typing import Final

MISSING_SYMBOL: Final = re.compile(r"undefined symbol: (?P<symbol>\w+)")
MISSING_LIBRARY: Final = re.compile(
    r"(?P<library>lib[\w+-]+\.so[.\d]*): cannot open shared object file"
)
OLD_LIBRARY: Final = re.compile(r"version `(?P<version>\w+_[\d.]+)' not found")
TORCH_SYMBOL: Final = re.compile(r"N?\d*(c10|at|torch|caffe2)\d|aoti_torch|torch_")

RUNTIMES: Final = {
    "libamdhip64": "this is a ROCm build, and no ROCm runtime is here: install a ROCm PyTorch",
    "libtorch_hip": "this is a ROCm build: install a ROCm PyTorch",
    "libc10_hip": "this is a ROCm build: install a ROCm PyTorch",
    "libcudart": "this is a CUDA build, and no CUDA runtime is here: install a CUDA PyTorch",
    "libtorch_cuda": "this is a CUDA build: install a CUDA PyTorch",
    "libc10_cuda": "this is a CUDA build: install a CUDA PyTorch",
}
"""Library -> what its absence means."""


def read_complaint(message: str) -> tuple[str, str] | None:
    """Return (problem, hint) for a message of the dynamic linker; None for any other text."""
    if match := MISSING_SYMBOL.search(message):
        symbol = match["symbol"]
        if TORCH_SYMBOL.search(symbol):
            return (
                f"needs the symbol {symbol}, which the installed PyTorch does not have",
                "load a build for the installed PyTorch, or install the PyTorch it was built for",
            )
        return f"needs the symbol {symbol}, which no loaded library has", "rebuild the kernel"
    if match := MISSING_LIBRARY.search(message):
        library = match["library"]
        hint = RUNTIMES.get(library.partition(".so")[0], f"install what provides {library}")
        return f"needs {library}, which is not on this machine", hint
    if match := OLD_LIBRARY.search(message):
        return (
            f"needs {match['version']}, and this system is older",
            "use a newer system, or a build made for manylinux_2_28",
        )
    return None
