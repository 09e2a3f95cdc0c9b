"""``kernel-hub org``: organisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.hub.cli.common import add_data_option, require_packages

if TYPE_CHECKING:
    import argparse

HELP: Final = "create an organisation, or add a member to one"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    create = actions.add_parser("create", help="create an organisation", allow_abbrev=False)
    create.add_argument("name", metavar="NAME")
    create.add_argument("--trusted", action="store_true", help="kernels load without asking")
    add = actions.add_parser("add-member", help="add a user", allow_abbrev=False)
    add.add_argument("name", metavar="NAME")
    add.add_argument("user", metavar="USER")
    add.add_argument("--role", choices=("read", "write", "admin"), default="write")
    for action in (create, add):
        add_data_option(action)


def run(args: argparse.Namespace) -> int:
    """Create the organisation, or add the member."""
    require_packages()
    from kernelmill.hub.service import accounts  # noqa: PLC0415 - loads SQLAlchemy

    if args.action == "create":
        accounts.create(args.data, args.name, "org", is_trusted=args.trusted)
        print(f"created organisation {args.name}")
    else:
        accounts.add_member(args.data, args.name, args.user, args.role)
        print(f"added {args.user} to {args.name} as {args.role}")
    return 0
