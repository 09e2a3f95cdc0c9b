"""How the commands print: tables on a terminal, plain columns elsewhere, JSON on request."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from kernelmill.console import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON object."""
    print(json.dumps(document, indent=2, ensure_ascii=False))


LABELS: Final = {
    "is_free_threaded": "free-threaded",
    "cxx11_abi": "C++11 ABI",
    "tvm_ffi": "TVM FFI",
    "is_offline": "offline",
    "local_kernels": "LOCAL_KERNELS",
    "bundles": "KERNELS_BUNDLE",
    "kernels_minver": "needs kernels",
    "python_depends": "needs packages",
    "repo_id": "repository",
}
"""What people read in the place of a name that JSON gives; others only lose their ``_``."""


def print_facts(facts: Mapping[str, object]) -> None:
    """Print names and values, one a line; ``-`` for what is not there."""
    named = {LABELS.get(name, name.replace("_", " ")): value for name, value in facts.items()}
    width = max(map(len, named))
    for name, value in named.items():
        print(printable(f"{name:{width}}  {_text(value)}"))


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{name}={each}" for name, each in value.items()) or "-"
        case list():
            return ", ".join(map(str, value)) or "-"
        case None | "":
            return "-"
    return str(value)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], file: TextIO | None = None
) -> None:
    """Print a table, to the standard output unless ``file`` is given."""
    file = file or sys.stdout
    rows = [tuple(map(printable, row)) for row in rows]
    if file.isatty():
        from rich.console import Console  # noqa: PLC0415 - costs 50 ms, and only terminals want it
        from rich.table import Table  # noqa: PLC0415 - as above
        from rich.text import Text  # noqa: PLC0415 - as above

        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in columns:
            table.add_column(column, overflow="fold")  # a name that is cut is no name
        for row in rows:
            table.add_row(*map(Text, row))  # as it is: "[red]" is no markup here
        Console(file=file).print(table)
        return
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        padded = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        print("  ".join(padded).rstrip(), file=file)


def note(text: str) -> None:
    """Print what is not the command's result."""
    print(text, file=sys.stderr)
