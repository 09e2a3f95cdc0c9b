"""``kernel-hub org``: organisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.hub.cli.common import add_data_option, existing_hub

if TYPE_CHECKING:
    import argparse

HELP: Final = "create an organisation, or add a member to one"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create an organisation", allow_abbrev=False)
    create.add_argument("name", metavar="NAME")
    create.add_argument("--trusted", action="store_true", help="kernels load without asking")
    create.set_defaults(act=_create)
    add = actions.add_parser("add-member", help="add a user", allow_abbrev=False)
    add.add_argument("name", metavar="NAME")
    add.add_argument("user", metavar="USER")
    add.add_argument("--role", choices=("read", "write", "admin"), default="write")
    add.set_defaults(act=_add_member)
    for action in (create, add):
        add_data_option(action)


def run(args: argparse.Namespace) -> int:
    """Do what was asked."""
    return int(args.act(args))


def _create(args: argparse.Namespace) -> int:
    from kernelmill.hub.store.accounts import create_account
    from kernelmill.hub.wire.names import check_account_name

    with existing_hub(args.data) as hub:
        name = check_account_name(args.name)
        create_account(hub.database, name, "org", is_trusted=args.trusted)
    print(f"created organisation {args.name}")
    return 0


def _add_member(args: argparse.Namespace) -> int:
    from kernelmill.hub.store.accounts import add_member

    with existing_hub(args.data) as hub:
        add_member(hub.database, args.name, args.user, args.role)
    print(f"added {args.user} to {args.name} as {args.role}")
    return 0
