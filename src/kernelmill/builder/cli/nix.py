"""``kernel-builder nix``: what the flake needs of this machine's Nix."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_json, note, print_json
from kernelmill.builder.nix.importing import import_sdk
from kernelmill.builder.sdk.store import open_store, parse_name

if TYPE_CHECKING:
    import argparse

HELP = "put SDKs into Nix's store: import"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    importing = actions.add_parser("import", help="add SDKs to Nix's store, for `nix build`")
    importing.set_defaults(action=_import)
    importing.add_argument("names", nargs="*", metavar="SDK", help="by default all that are here")
    importing.add_argument("--store", default="", metavar="URL", help="as for nix itself")
    add_json(importing)


def run(args: argparse.Namespace) -> int:
    """Do what the action says."""
    return int(args.action(args))


def _import(args: argparse.Namespace) -> int:
    store = open_store(os.environ)
    wanted = [store.require(*parse_name(it)) for it in args.names] or store.installed()
    paths = {}
    for sdk in wanted:
        paths[sdk.record.name] = import_sdk(sdk, store, os.environ, nix_store=args.store)
        note(f"{sdk.record.name}: in Nix's store")
    if args.json:
        print_json({"paths": paths})
    else:
        print("".join(f"{it}\n" for it in paths.values()), end="")
    return 0
