"""Writes ``manifest.md``, the reference of ``build.toml``, from the dataclasses it is read into.

Run it after a change of ``kernelmill.spec.editions.model``; a test fails when that was forgotten.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import PYTHON_DEPENDENCIES
from kernelmill.spec.editions import model
from kernelmill.spec.editions.v5 import LIBRARIES

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET: Final = Path(__file__).with_name("manifest.md")

EXAMPLE: Final = """\
[general]
name = "gemm"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cpu", "rocm"]

[general.hub]
repo-id = "kernels-community/gemm"

[torch]
src = ["torch-ext/torch_binding.cpp", "torch-ext/torch_binding.h"]

[kernel.gemm_rocm]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = ["gemm/gemm.hip", "gemm/gemm.h"]

[kernel.gemm_cpu]
backend = "cpu"
depends = ["torch"]
src = ["gemm/gemm.cpp", "gemm/gemm.h"]
"""

_INTRODUCTION: Final = f"""\
# build.toml

<!-- Written by docs/generate_manifest.py: change the dataclasses, not this file. -->

The manifest of a kernel, edition 5. `kernel-builder check-config` reads it and lists every mistake
with its line, the nearest known key and the allowed values. Older editions are read as well:
[editions.md](editions.md).

```toml
{EXAMPLE}```

Paths are relative to `build.toml`, with `/`, and stay inside its folder. Versions are strings of
two numbers: `"2.13"`. Nothing may be listed twice in one array, except compiler flags. Unknown keys
are mistakes in every table. Exactly one of `[torch]`, `[torch-noarch]` and `[tvm-ffi]` is needed.
"""

# Table -> the class it is read into, and the keys that are tables of their own.
_TABLES: Final = (
    ("[general]", model.General, {"hub", "cuda", "neuron", "tpu", "xpu"}),
    ("[general.hub]", model.HubTarget, set[str]()),
    ("[general.cuda]", model.CudaGeneral, set[str]()),
    ("[general.neuron], [general.tpu], [general.xpu]", model.BackendGeneral, set[str]()),
    ("[torch]", model.Torch, set[str]()),
    ("[torch-noarch]", model.TorchNoarch, set[str]()),
    ("[tvm-ffi]", model.TvmFfi, set[str]()),
    ("[kernel.NAME]", model.Kernel, {"name"}),
)
_TYPES: Final = {
    "str": "string",
    "int": "whole number",
    "KernelName": "string",
    "RepoId": "`owner/name`",
    "Backend": "string",
    "tuple[int, int]": "version",
    "tuple[str, ...]": "array of strings",
    "tuple[Backend, ...]": "array of strings",
    "tuple[KernelDependency, ...]": "array of tables",
    "Mapping[Backend, tuple[int, int]]": "version, or table of backend = version",
}
_ONLY_FOR: Final = {"cuda_": "cuda: ", "rocm_": "rocm: ", "hip_": "rocm: ", "sycl_": "xpu: "}


def render() -> str:
    """Return the text of ``manifest.md``."""
    parts = [_INTRODUCTION, *(_table(*it) for it in _TABLES), _values()]
    return "\n".join(parts)


def _table(title: str, cls: type, skipped: set[str]) -> str:
    purpose = (inspect.getdoc(cls) or "").partition(": ")[2]
    head = f"## `{title}`\n\n{purpose[:1].upper()}{purpose[1:]}\n"
    rows = [f"| {' | '.join(it)} |" for it in _rows(cls, skipped)]
    return "\n".join([head, "| key | type | needed | meaning |", "|---|---|---|---|", *rows, ""])


def _rows(cls: type, skipped: set[str]) -> Iterator[tuple[str, str, str, str]]:
    if cls is model.General:
        yield "`edition`", "whole number", "yes", "5."
    for name, annotation, has_default, meaning in _fields(cls):
        if name in skipped:
            continue
        key = name if cls is model.TorchNoarch else name.replace("_", "-")
        needed = "" if has_default else "yes"
        backends = (only for prefix, only in _ONLY_FOR.items() if name.startswith(prefix))
        prefix = next(backends, "") if cls is model.Kernel else ""
        text = f"{prefix}{meaning}".replace("``", "`").replace("|", "\\|")
        yield f"`{key}`", _TYPES[annotation.removesuffix(" | None")], needed, text


def _fields(cls: type) -> Iterator[tuple[str, str, bool, str]]:
    """Give name, annotation, whether there is a default, and docstring of each field."""
    (definition,) = ast.parse(inspect.getsource(cls)).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            value = after.value if isinstance(after, ast.Expr) else None
            meaning = value.value if isinstance(value, ast.Constant) else ""
            annotation = ast.unparse(statement.annotation)
            has_default = statement.value is not None
            yield statement.target.id, annotation, has_default, " ".join(str(meaning).split())


def _values() -> str:
    libraries = ", ".join(f"`{it}`" for it in LIBRARIES)
    packages = ", ".join(
        f"`{it.name}`" + (f" ({it.backend} only)" if it.backend else "")
        for it in PYTHON_DEPENDENCIES
    )
    return (
        "## Allowed values\n\n"
        f"- Backends: {', '.join(f'`{it}`' for it in Backend)}.\n"
        f"- `depends` of a kernel: {libraries}.\n"
        f"- `python-depends`: {packages}.\n"
        '- `kernel-depends`: `{ repo-id = "owner/name", version = 1 }`, or `revision = "..."` '
        "instead of `version`.\n"
    )


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
