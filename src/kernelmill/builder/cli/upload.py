"""``kernel-builder upload``: check the built variants, then upload them with ``kernels upload``."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_folder, note
from kernelmill.builder.review import review_build

if TYPE_CHECKING:
    import argparse

HELP = "check the variants in build/ and upload them"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: those of ``kernels upload``, which does the upload."""
    add_folder(parser)
    parser.add_argument("--repo-id", metavar="OWNER/NAME", help="by default that of build.toml")
    parser.add_argument("--branch", metavar="NAME", help="by default v<version>")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    parser.add_argument("--repo-type", choices=["kernel", "model"])
    parser.add_argument("--dry-run", action="store_true", help="only print what would be uploaded")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Check, then hand over; the exit status is that of the upload."""
    variants = review_build(args.dir.resolve())
    note(f"checked {', '.join(variants)}")
    return subprocess.call([sys.executable, "-m", "kernelmill.runtime", "upload", *_forward(args)])


def _forward(args: argparse.Namespace) -> list[str]:
    values = {"--repo-id": args.repo_id, "--branch": args.branch, "--repo-type": args.repo_type}
    switches = {"--private": args.private, "--dry-run": args.dry_run, "--json": args.json}
    return [
        str(args.dir),
        *(word for option, value in values.items() if value for word in (option, value)),
        *(option for option, is_set in switches.items() if is_set),
    ]
