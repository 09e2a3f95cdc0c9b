"""``kernel-builder list-variants``: the variants of a kernel, and what is missing to build them."""

from __future__ import annotations

import json
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
    form = parser.add_mutually_exclusive_group()
    add_json(form)
    form.add_argument(
        "--ci-matrix",
        action="store_true",
        help='print {"include": [...]} in one line, the matrix of a GitHub Actions job: what can '
        "be built here, once its SDKs are fetched",
    )


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
    if args.ci_matrix:
        rows = [_as_matrix_row(offer) for offer in found if not offer.objection or offer.missing]
        print(json.dumps({"include": rows}))
        return 0 if rows else 1
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


def _as_matrix_row(offer: Offer) -> dict[str, str]:
    """Return what a job of its own needs to know, as words that fit into a command."""
    public = offer.torch.partition("+")[0]
    used = () if offer.is_installed or not public else (f"torch-{public}",)
    return {
        "variant": str(offer.variant),
        "backend": str(offer.backend),
        "torch": offer.torch,
        "sdks": " ".join(offer.missing or used),
    }


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
