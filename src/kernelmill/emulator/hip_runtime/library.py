"""The stand-in ``libamdhip64``: its sources, and building it."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from kernelmill.emulator.hip_runtime.compile import Recipe, ensure_library, find_c_compiler
from kernelmill.emulator.hip_runtime.properties import DEVICE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PACKAGE: Final = "kernelmill.emulator.hip_runtime"
SONAMES: Final = {6: "libamdhip64.so.6", 7: "libamdhip64.so.7"}
"""By ROCm's major version."""
RUNTIME_VERSIONS: Final = {6: 60_300_000, 7: 70_100_000}
"""What ``hipRuntimeGetVersion`` says: ROCm 6.3 and 7.1."""
OWN_NODE: Final = "KERNELMILL_EMULATOR"
OWN_NAMES: Final = (
    "emulator_state", "emulator_share", "emulator_attach", "emulator_detach", "emulator_report",
    "emulator_peek_fault", "emulator_take_fault",
)  # fmt: skip
"""For the emulator: ``native/state.c``."""


@cache
def read_symbol_nodes() -> Mapping[str, tuple[str, ...]]:
    """Return version node -> symbols, oldest first."""
    text = files(PACKAGE).joinpath("symbols.json").read_text("utf-8")
    return {node: tuple(names.split()) for node, names in json.loads(text)["nodes"].items()}


def render_version_script() -> str:
    """Return the linker's version script: each node inherits the one before."""
    parts, parent = [], ""
    for node, names in {**read_symbol_nodes(), OWN_NODE: OWN_NAMES}.items():
        listed = "".join(f"    {name};\n" for name in names)
        shown = f"  global:\n{listed}" if listed else ""
        hidden = "" if parent else "  local:\n    *;\n"
        parts.append(f"{node} {{\n{shown}{hidden}}}{parent};\n")
        parent = f" {node}"
    return "\n".join(parts)


def render_unsupported() -> str:
    """Return C code with a weak function for each symbol, for those that have no other."""
    names = sorted(name for group in read_symbol_nodes().values() for name in group)
    functions = "\n".join(
        f'EXPORT __attribute__((weak)) hipError_t {name}(void) {{ return unsupported("{name}"); }}'
        for name in names
    )
    return f'#include "state.h"\n\n{functions}\n'


def render_properties_header(rocm_major: int) -> str:
    """Return C definitions of what the device says of itself."""
    lines = ["#pragma once"]
    for field in fields(DEVICE):
        value = getattr(DEVICE, field.name)
        if field.name == "version":
            lines += [f"#define DEVICE_MAJOR {value[0]}", f"#define DEVICE_MINOR {value[1]}"]
        elif isinstance(value, str):
            lines.append(f'#define DEVICE_{field.name.upper()} "{value}"')
        else:
            lines.append(f"#define DEVICE_{field.name.upper()} {value}")
    lines.append(f"#define RUNTIME_VERSION {RUNTIME_VERSIONS[rocm_major]}")
    return "\n".join([*lines, ""])


def runtime_recipe(rocm_major: int, compiler: tuple[str, ...]) -> Recipe:
    """Return how ``libamdhip64.so.N`` is made."""
    native = sorted(files(PACKAGE).joinpath("native").iterdir(), key=lambda item: item.name)
    sources = {item.name: item.read_text("utf-8") for item in native}
    sources |= {
        "unsupported.c": render_unsupported(),
        "device_properties.h": render_properties_header(rocm_major),
        "symbols.map": render_version_script(),
    }
    soname = SONAMES[rocm_major]
    flags = (
        "-std=gnu11", "-O1", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", "-Wall",
        f"-Wl,-soname,{soname}", "-Wl,--version-script=symbols.map",
        *(name for name in sorted(sources) if name.endswith(".c")),
    )  # fmt: skip
    return Recipe(name=soname, sources=sources, compiler=compiler, flags=flags)


def ensure_runtimes(cache_folder: Path, *, path: str) -> dict[int, Path]:
    """Return ROCm major -> the stand-in's file; compile what is missing, in half a second.

    Args:
        cache_folder: where compiled libraries are kept.
        path: the folders to look for a compiler in, as in ``PATH``.
    """
    compiler = find_c_compiler(path)
    return {
        major: ensure_library(runtime_recipe(major, compiler), cache_folder) for major in SONAMES
    }
