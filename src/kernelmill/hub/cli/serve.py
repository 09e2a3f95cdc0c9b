"""``kernel-hub serve``: run a Hub on a data folder."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.hub.cli.common import add_data_option

if TYPE_CHECKING:
    import argparse

    from kernelmill.hub.service.hub import Hub

HELP: Final = "run a Hub on a data folder"

log = logging.getLogger(__name__)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_option(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=8080, metavar="N", help="0: any free port")
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
        "--max-upload-mib", type=int, default=2048, metavar="N", help="largest commit request"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log every request")


def run(args: argparse.Namespace) -> int:
    """Serve until a signal says stop."""
    from kernelmill.hub.server import serve
    from kernelmill.hub.service.hub import open_hub
    from kernelmill.hub.settings import MIB, Settings

    os.umask(0o077)  # what a Hub keeps is for its owner's eyes
    logging.basicConfig(format="kernel-hub: %(message)s", level=logging.WARNING)
    level = logging.DEBUG if args.verbose else logging.INFO
    logging.getLogger("kernelmill.hub").setLevel(level)
    _check_options(args)
    hub = open_hub(Settings(data=args.data, max_upload_bytes=args.max_upload_mib * MIB))
    try:
        log.info("data in %s", args.data)
        _prepare_accounts(hub, args)
        serve(hub, host=args.host, port=args.port, announce=lambda url: _announce(args, url))
    finally:
        hub.close()
    log.info("stopped")
    return 0


def _check_options(args: argparse.Namespace) -> None:
    """Find mistakes before anything is written."""
    from kernelmill.hub.errors import SettingError
    from kernelmill.hub.wire.names import check_account_name

    if not 0 <= args.port <= 65535:
        raise SettingError(f"{args.port} is not a port: 0 to 65535")
    if args.max_upload_mib < 1:
        raise SettingError(f"--max-upload-mib is {args.max_upload_mib}, want at least 1")
    for org in args.trust:
        check_account_name(org)


def _prepare_accounts(hub: Hub, args: argparse.Namespace) -> None:
    from kernelmill.hub.service.accounts import ensure_admin_token, ensure_trusted
    from kernelmill.hub.service.files import write_private

    file: Path | None = args.admin_token_file
    token = ensure_admin_token(hub, again=file is not None and not file.exists())
    if token is not None:
        print(f"admin token (shown once): {token}", flush=True)
        if file is not None:
            write_private(file, f"{token}\n")
    for org in args.trust:
        ensure_trusted(hub, org)
        log.info("%s is a trusted publisher", org)


def _announce(args: argparse.Namespace, url: str) -> None:
    import json

    from kernelmill.hub.service.files import write_private

    print(f"listening at {url}", flush=True)
    if args.ready_file is not None:
        ready = {"version": 1, "url": url, "pid": os.getpid()}
        write_private(args.ready_file, json.dumps(ready) + "\n")
