"""``kernel-hub serve``: run a Hub on a data folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.hub.cli.common import add_data_option, require_packages

if TYPE_CHECKING:
    import argparse

HELP: Final = "run a Hub on a data folder"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_option(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument(
        "--port",
        type=int,
        default=8080,
        metavar="N",
        help="%(default)s by default; 0: any free port",
    )
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="ORG",
        help="create this organisation, or mark it, as a trusted kernel publisher",
    )
    parser.add_argument(
        "--ready-file", type=Path, metavar="FILE", help="written (JSON) when the Hub answers"
    )
    parser.add_argument(
        "--admin-token-file", type=Path, metavar="FILE", help="where scripts find the admin token"
    )
    parser.add_argument(
        "--max-upload-mib",
        type=int,
        default=2048,
        metavar="N",
        help="largest commit request (%(default)s)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log every request")


def run(args: argparse.Namespace) -> int:
    """Serve until a signal says stop."""
    require_packages()
    from kernelmill.hub.cli import serving  # noqa: PLC0415 - loads the web server

    options = serving.Options(
        host=args.host,
        port=args.port,
        trusted=tuple(args.trust),
        ready_file=args.ready_file,
        token_file=args.admin_token_file,
        max_upload_mib=args.max_upload_mib,
        is_verbose=args.verbose,
    )
    serving.run(args.data, options)
    return 0
