"""``kernel-builder build-and-upload``: build, and upload when all of it was built."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from kernelmill.builder.cli import build, upload
from kernelmill.builder.cli.options import note

if TYPE_CHECKING:
    import argparse

HELP = "build a kernel and upload what was built"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: those of ``build`` and those of ``upload``."""
    build.configure(parser)
    upload.add_upload(parser)


def run(args: argparse.Namespace) -> int:
    """Build, then upload; nothing is uploaded unless every variant was built."""
    upload.require_possible(args)  # before minutes of compiling
    upload.require_repository(args.dir.resolve(), args.repo_id)
    with redirect_stdout(sys.stderr):
        status = build.run(args)
    if status:
        note("nothing was uploaded: not every variant was built")
        return status
    from kernelmill.builder.package import OUTPUT_FOLDER  # noqa: PLC0415 - heavy

    args.builds = OUTPUT_FOLDER
    return upload.run(args)
