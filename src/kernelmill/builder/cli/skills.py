"""``kernel-builder skills``: upstream's command, of which there is nothing here to add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError

if TYPE_CHECKING:
    import argparse

HELP = "upstream's skills for coding agents: none here, the documentation serves both"


def configure(parser: argparse.ArgumentParser) -> None:
    """Take whatever upstream's command takes."""
    parser.add_argument("words", nargs="*", metavar="add ...", help="not used")


def run(args: argparse.Namespace) -> int:
    """Say what to read instead.

    Raises:
        PlanError: always.
    """
    raise PlanError(
        "there are no skills to add",
        where=" ".join(("skills", *args.words)),
        hint="let the agent read docs/guide.md, and what `kernel-builder generate-docs` prints",
    )
