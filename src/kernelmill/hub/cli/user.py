"""``kernel-hub user``: users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.hub.cli.common import add_data_option, require_packages

if TYPE_CHECKING:
    import argparse

HELP: Final = "create a user"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create a user", allow_abbrev=False)
    create.add_argument("name", metavar="NAME")
    create.add_argument("--admin", action="store_true", help="may administer this Hub")
    add_data_option(create)


def run(args: argparse.Namespace) -> int:
    """Create the user."""
    require_packages()
    from kernelmill.hub.service import accounts  # noqa: PLC0415 - loads SQLAlchemy

    accounts.create(args.data, args.name, "user", is_admin=args.admin)
    print(f"created user {args.name}")
    return 0
