"""The link-time stand-in for the HIP runtime: the real names and versions, and nothing behind them.

A kernel linked against it asks for ``libamdhip64.so.7`` and ``hipLaunchKernel@hip_4.2`` as one that
was linked on a machine with ROCm. It is never shipped. Its functions report "no device", so that a
test can load a kernel.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final

from kernelmill.spec.values import dataclass

NO_DEVICE: Final = 100
"""``hipErrorNoDevice``."""
SONAMES: Final = {6: "libamdhip64.so.6", 7: "libamdhip64.so.7"}
"""By ROCm's major version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StubNode:
    """One version of the runtime's interface, and the symbols that came with it."""

    name: str
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StubSymbols:
    """The symbols of the stub. Their source is named in ``stub_symbols.json``."""

    nodes: tuple[StubNode, ...]
    """Oldest first; each inherits the one before."""
    returns_text: frozenset[str]
    returns_handle: frozenset[str]

    @property
    def versions(self) -> dict[str, str]:
        """Return symbol -> version node."""
        return {symbol: node.name for node in self.nodes for symbol in node.symbols}


@cache
def read_stub_symbols() -> StubSymbols:
    """Return the symbols from the package's data file."""
    text = files("kernelmill.builder.hip").joinpath("stub_symbols.json").read_text("utf-8")
    content = json.loads(text)
    return StubSymbols(
        nodes=tuple(
            StubNode(name=node["name"], symbols=tuple(node["symbols"])) for node in content["nodes"]
        ),
        returns_text=frozenset(content["returns_text"]),
        returns_handle=frozenset(content["returns_handle"]),
    )


def render_stub_source(symbols: StubSymbols) -> str:
    """Return the stub's C++ source."""
    lines = [
        "// A stand-in for libamdhip64, for linking only; never shipped. No device, no effect.",
        'extern "C" {',
        "static void* handle;",
    ]
    for symbol in sorted(symbols.versions):
        if symbol in symbols.returns_text:
            body = f'const char* {symbol}() {{ return "the HIP runtime is a stub: no device"; }}'
        elif symbol in symbols.returns_handle:
            body = f"void** {symbol}() {{ return &handle; }}"
        else:
            body = f"int {symbol}() {{ return {NO_DEVICE}; }}"
        lines.append(body)
    return "\n".join([*lines, "}", ""])


def render_version_script(symbols: StubSymbols) -> str:
    """Return the linker's version script."""
    parts, parent = [], ""
    for node in symbols.nodes:
        names = "".join(f"    {symbol};\n" for symbol in node.symbols)
        hidden = "" if parent else "  local:\n    *;\n"
        parts.append(f"{node.name} {{\n  global:\n{names}{hidden}}}{parent};\n")
        parent = f" {node.name}"
    return "\n".join(parts)
