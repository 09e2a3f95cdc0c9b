"""``kernel-builder list-variants``: the variants of a kernel, and what is missing to build them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kernelmill.builder import offers, sources, toolchain
from kernelmill.builder.cli.options import add_folder, add_json, print_json
from kernelmill.builder.sdk.store import open_store
from kernelmill.spec.variant import NoarchVariant

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.offers import Offer

HELP = "list a kernel's variants, and what is missing to build each of them here"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument(
        "--everywhere", action="store_true", help="list the variants of other platforms too"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line for each variant; status 1 when none can be built here."""
    tree = sources.read_tree(args.dir.resolve())
    if tree.is_python_only:
        found = offers.list_noarch_offers(tree)
    else:
        found = offers.list_offers(
            tree,
            toolchain.probe_toolchain(os.environ, python=sys.executable),
            open_store(os.environ),
            is_everywhere=args.everywhere,
        )
    if args.json:
        print_json({"variants": [_as_json(offer) for offer in found]})
    else:
        print("\n".join(map(_as_line, found)))
    return 0 if any(not offer.objection for offer in found) else 1


def _as_line(offer: Offer) -> str:
    if offer.objection:
        return f"{offer.variant or offer.backend}: {offer.objection}"
    archs = f" ({', '.join(offer.archs)})" if offer.archs else ""
    return f"{offer.variant}{archs}  {_basis(offer)}"


def _basis(offer: Offer) -> str:
    if isinstance(offer.variant, NoarchVariant):
        return "Python only"
    framework = f"torch {offer.torch}" if offer.torch else "TVM FFI"
    return f"{framework}, {'installed' if offer.is_installed else 'headers'}"


def _as_json(offer: Offer) -> dict[str, object]:
    return {
        "backend": str(offer.backend),
        "variant": str(offer.variant) if offer.variant else None,
        "torch": offer.torch or None,
        "installed": offer.is_installed,
        "archs": list(offer.archs),
        "objection": offer.objection,
        "missing": list(offer.missing),
    }
