"""Whether a binary keeps to Python's stable ABI, so that one build serves every later Python."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from kernelmill.builder.check import Finding
from kernelmill.builder.check.policies import read_additions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PYTHON_SYMBOL: Final = re.compile(r"_?Py[A-Z_]\w*")
DEFAULT_PYTHON: Final = (3, 9)


def check_python_abi(
    names: Iterable[str], *, stable: Mapping[str, tuple[int, int]], floor: tuple[int, int]
) -> tuple[Finding, ...]:
    """Find Python symbols that are not in the stable ABI of ``floor``.

    Args:
        names: all symbols that the binary wants.
        stable: symbol -> the Python that brought it into the stable ABI.
        floor: the oldest Python to serve.
    """
    asked = ".".join(map(str, floor))
    findings = []
    for name in sorted(set(names)):
        if not PYTHON_SYMBOL.fullmatch(name):
            continue
        added = stable.get(name)
        if added is None:
            problem = f"{name} is not in Python's stable ABI"
        elif added > floor:
            since = ".".join(map(str, added))
            problem = f"{name} is in Python's stable ABI since {since}, and {asked} is wanted"
        else:
            continue
        hint = f"compile with -DPy_LIMITED_API=0x{floor[0]:02x}{floor[1]:02x}0000"
        findings.append(Finding(problem=problem, hint=hint))
    return tuple(findings)


@cache
def read_stable_abi() -> Mapping[str, tuple[int, int]]:
    """Return the symbols of CPython's stable ABI, from the data file, which names its source."""
    return read_additions("python_stable_abi.json")
