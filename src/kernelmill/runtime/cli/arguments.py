"""Arguments that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from kernelmill.runtime.trust import Trust


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


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Declare ``--allow`` and ``--trust-remote-code``."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--allow",
        metavar="REPO",
        action="append",
        help="a repository to trust although its publisher is unknown; may be repeated",
    )
    group.add_argument(
        "--trust-remote-code", action="store_true", help="trust every repository that is named"
    )


def trust_of(args: argparse.Namespace) -> Trust:
    """Return whom ``add_trust``'s arguments trust."""
    return True if args.trust_remote_code else list(args.allow or ())
