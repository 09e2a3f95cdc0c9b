"""``kernel-builder clean-pyproject``: remove what ``create-pyproject`` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_backend, add_folder

if TYPE_CHECKING:
    import argparse

HELP = "remove the files that create-pyproject wrote"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("target", nargs="?", type=Path, metavar="TARGET", help="DIR by default")
    add_backend(parser)
    parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")
    parser.add_argument("-f", "--force", action="store_true", help="remove changed files too")


def run(args: argparse.Namespace) -> int:
    """Remove the files and print their paths."""
    from kernelmill.builder.cli.project import plan_project  # noqa: PLC0415 - heavy

    target = (args.target or args.dir).resolve()
    files = plan_project(args.dir.resolve(), target, backends=args.backend)
    paths = files.removable(target, force=args.force)
    if not args.dry_run:
        files.remove(target, paths)
    print("\n".join(paths) or "nothing to remove")
    return 0
