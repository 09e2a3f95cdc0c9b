"""Arguments that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_revision(parser: argparse.ArgumentParser) -> None:
    """Declare ``--version`` and ``--revision``."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--version", type=int, metavar="N", help="the version: branch vN")
    group.add_argument("--revision", metavar="REV", help="a branch, tag or commit")


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Declare ``--backend``."""
    parser.add_argument(
        "--backend", metavar="NAME", help="cpu, or the backend of the installed PyTorch (default)"
    )
