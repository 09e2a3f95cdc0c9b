"""``kernel-builder inspect``: print what a built kernel is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_json, print_json

if TYPE_CHECKING:
    import argparse

HELP = "print libraries, symbol versions and device kernels of a binary; executes nothing"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=Path, metavar="FILE|VARIANT")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the facts."""
    from kernelmill.builder.cli.inspection_report import (  # noqa: PLC0415 - heavy
        as_json,
        as_lines,
    )
    from kernelmill.builder.inspection import (  # noqa: PLC0415 - heavy
        find_binary,
        inspect_binary,
    )

    path = find_binary(args.path)
    inspection = inspect_binary(path.read_bytes(), name=path.name)
    if args.json:
        print_json(as_json(inspection))
    else:
        print("\n".join(as_lines(inspection)))
    return 0
