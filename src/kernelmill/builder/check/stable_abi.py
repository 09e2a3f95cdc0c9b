"""Whether sources that are built for PyTorch's stable ABI keep to its headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STABLE = ("torch/csrc/stable/", "torch/headeronly/", "torch/csrc/inductor/aoti_torch/c/")
"""Folders of headers that only use what stays as it is between versions of PyTorch."""
_FULL = re.compile(r"(?:torch|ATen|c10|caffe2|pybind11)/|pybind11\.h$")
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(?P<name>\w+)[ \t]*(?P<rest>.*)")
_INCLUDED = re.compile(r'[<"](?P<path>[^>"]+)[>"]')


def check_stable_headers(
    texts: Mapping[str, str], version: tuple[int, int]
) -> tuple[PlanError, ...]:
    """Find includes of headers that PyTorch refuses to be combined with its stable ABI.

    Includes inside of a condition are passed over: one source may serve builds with and without
    the stable ABI.

    Args:
        texts: path -> text of each source and header.
        version: the stable ABI's.
    """
    target = f"{version[0]}.{version[1]}"
    return tuple(
        PlanError(
            f"<{header}> does not belong to the stable ABI of PyTorch {target}",
            where=f"{path}:{line}",
            hint="rule: with stable-abi, include torch/csrc/stable and torch/headeronly only; "
            "or remove stable-abi from build.toml",
        )
        for path, text in sorted(texts.items())
        for line, header in _unconditional_includes(text)
        if _FULL.match(header) and not header.startswith(_STABLE)
    )


def _unconditional_includes(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, header); what an include guard encloses is unconditional."""
    depth, previous = 0, ""
    guard_depth = 0
    for number, line in enumerate(text.splitlines(), start=1):
        directive = _DIRECTIVE.match(line)
        if not directive:
            continue
        name, rest = directive["name"], directive["rest"].strip()
        if name in {"if", "ifdef", "ifndef"}:
            depth += 1
        elif name == "endif":
            depth -= 1
        elif name == "define" and depth == 1 and previous == f"ifndef {rest.split(' ')[0]}":
            guard_depth = 1
        elif name == "include" and depth <= guard_depth and (found := _INCLUDED.match(rest)):
            yield number, found["path"]
        previous = f"{name} {rest.split(' ')[0]}"
