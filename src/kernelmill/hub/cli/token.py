"""``kernel-hub token``: tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.hub.cli.common import add_data_option, require_packages

if TYPE_CHECKING:
    import argparse

HELP: Final = "create a token"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create a token", allow_abbrev=False)
    create.add_argument("--user", required=True, metavar="NAME")
    create.add_argument("--role", choices=("read", "write", "admin"), required=True)
    create.add_argument("--label", default="command line", help="a name to know it by")
    add_data_option(create)


def run(args: argparse.Namespace) -> int:
    """Create the token and print it: it cannot be shown again."""
    require_packages()
    from kernelmill.hub.service import accounts  # noqa: PLC0415 - loads SQLAlchemy

    print(accounts.create_token(args.data, args.user, args.role, args.label))
    return 0
