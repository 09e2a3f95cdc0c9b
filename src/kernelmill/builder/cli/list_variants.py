"""``kernel-builder list-variants``: what can be built here."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kernelmill.builder import offers, sources, toolchain
from kernelmill.builder.cli.options import add_folder, add_json, print_json

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.offers import Offer

HELP = "list the variants that can be built here, and why others cannot"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line for each backend of the kernel; status 1 when none can be built."""
    tree = sources.read_tree(args.dir.resolve())
    if tree.is_python_only:
        found = offers.list_noarch_offers(tree)
    else:
        tools = toolchain.probe_toolchain(os.environ, python=sys.executable)
        found = offers.list_offers(tree, tools)
    if args.json:
        print_json({"variants": [_as_json(offer) for offer in found]})
    else:
        for offer in found:
            archs = f" ({', '.join(offer.archs)})" if offer.archs else ""
            print(
                f"{offer.variant}{archs}"
                if offer.variant
                else f"{offer.backend}: {offer.objection}"
            )
    return 0 if any(offer.variant for offer in found) else 1


def _as_json(offer: Offer) -> dict[str, object]:
    return {
        "backend": str(offer.backend),
        "variant": str(offer.variant) if offer.variant else None,
        "archs": list(offer.archs),
        "objection": offer.objection,
    }
