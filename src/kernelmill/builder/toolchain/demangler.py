"""Names of C++ functions as they were written."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAMS = ("c++filt", "llvm-cxxfilt")
_TIMEOUT_S = 20
_PREFIX = re.compile(r"_Z(?:N[KV]*|L)?")
_PART = re.compile(r"L?(\d+)")


def demangle(names: Sequence[str]) -> dict[str, str]:
    """Return linker's name -> readable name; without a demangler the latter lacks all types."""
    readable = _ask_program(names)
    return {
        name: written if written not in {"", name} else shorten(name)
        for name, written in zip(names, readable, strict=True)
    }


def shorten(name: str) -> str:
    """Return the identifiers of a mangled name: ``_ZN4gemm8multiplyE...`` -> ``gemm::multiply``."""
    prefix = _PREFIX.match(name)
    place = prefix.end() if prefix else len(name)
    parts: list[str] = []
    while found := _PART.match(name, place):
        place = found.end() + int(found[1])
        parts.append(name[found.end() : place])
        if prefix and "N" not in prefix[0]:
            break
    return "::".join(parts) or name


def _ask_program(names: Sequence[str]) -> Sequence[str]:
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None or not names:
        return names
    try:
        done = subprocess.run(
            [program],
            input="\n".join(names),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return names  # a name is for reading only: no reason to fail
    lines = done.stdout.splitlines()
    return lines if len(lines) == len(names) else names
