"""What a user says of a build in place of what would be found out: its id, and its commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.builder.errors import PlanError

if TYPE_CHECKING:
    import argparse

    from kernelmill.spec.metadata import SourceState

_IDENTITY = re.compile(r"[A-Za-z0-9_]+")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a user says of a build in place of what would be found out."""

    unique_id: str | None = None
    source: SourceState | None = None


def add_identity(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``read_identity``."""
    parser.add_argument(
        "--unique-id",
        metavar="ID",
        help="the last part of the operators' names; by default made from the sources",
    )
    parser.add_argument(
        "--kernel-sha", metavar="SHA", help="the commit of the sources, for metadata.json"
    )
    parser.add_argument(
        "--kernel-dirty", action="store_true", help="the sources are not what the commit holds"
    )


def read_identity(args: argparse.Namespace) -> Identity:
    """Read the arguments.

    Raises:
        PlanError: one cannot be.
    """
    if args.unique_id is not None and not _IDENTITY.fullmatch(args.unique_id):
        raise PlanError(
            f"{args.unique_id!r} cannot be part of an operator's name",
            where="--unique-id",
            hint="use letters, digits and underscores",
        )
    if args.kernel_sha is None:
        if args.kernel_dirty:
            raise PlanError("--kernel-dirty says something of a commit", hint="add --kernel-sha")
        return Identity(unique_id=args.unique_id)
    commit = args.kernel_sha.lower()
    if not _COMMIT.fullmatch(commit):
        raise PlanError(
            f"{args.kernel_sha!r} is not a git object id",
            where="--kernel-sha",
            hint="write 40 or 64 hex digits",
        )
    from kernelmill.spec.metadata import SourceState  # noqa: PLC0415 - heavy

    return Identity(
        unique_id=args.unique_id, source=SourceState(commit=commit, is_dirty=args.kernel_dirty)
    )
