"""``kernel-builder create-pyproject``: write the CMake and Python project of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_backend, add_folder, note
from kernelmill.builder.cli.project import plan_project

if TYPE_CHECKING:
    import argparse

HELP = "write a CMake and Python project that builds the kernel without kernel-builder"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument(
        "target", nargs="?", type=Path, metavar="TARGET", help="where to write; DIR by default"
    )
    add_backend(parser)
    parser.add_argument("-f", "--force", action="store_true", help="replace existing files")


def run(args: argparse.Namespace) -> int:
    """Write the files, and print those that are new or changed."""
    target = (args.target or args.dir).resolve()
    files = plan_project(args.dir.resolve(), target, backends=args.backend)
    written = files.write(target, force=args.force)
    print("\n".join(written) or "nothing changed")
    note("next: cmake -B build -G Ninja && cmake --build build --target local_install")
    return 0
