"""``kernel-builder check-builds``: say whether finished variants are what their metadata says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kernelmill.builder.cli.earlier import find_earlier
from kernelmill.builder.cli.options import add_folder, add_json, print_json
from kernelmill.builder.errors import CheckError
from kernelmill.builder.wording import count_of

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.review import Reviewed

HELP = "check every built variant: metadata, hashes, symbols, architectures, imports, freshness"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument(
        "--against",
        metavar="DIR|REPO@vN",
        help="an earlier build of this version: every call that it answers has to work still",
    )
    parser.add_argument(
        "--operators",
        action="store_true",
        help="load each variant into a process of this Python and check what it registers",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line for each variant, and its findings; findings are status 1."""
    from kernelmill.builder.review import (  # noqa: PLC0415 - heavy
        review_operators,
        review_variants,
        surface_of,
    )
    from kernelmill.builder.variants import find_variants  # noqa: PLC0415 - heavy

    folders = find_variants(args.dir)
    known = surface_of(find_variants(find_earlier(args.against))[0]) if args.against else ()
    reviewed = review_variants(folders, root=args.dir.resolve(), known=known)
    if args.operators:
        reviewed = tuple(review_operators(it, python=sys.executable) for it in reviewed)
    if args.json:
        print_json({"variants": [_as_json(it) for it in reviewed]})
    else:
        for it in reviewed:
            print(f"{it.folder.resolve().name}: {'wrong' if it.findings else 'ok'}")
            for finding in it.findings:
                print(f"  - {finding}")
            for remark in it.remarks:
                print(f"  {remark}")
    if wrong := [it for it in reviewed if it.findings]:
        raise CheckError(f"{count_of(len(wrong), 'variant')} of {len(reviewed)} wrong")
    return 0


def _as_json(reviewed: Reviewed) -> dict[str, object]:
    return {
        "variant": reviewed.folder.resolve().name,
        "findings": [{"problem": it.problem, "hint": it.hint} for it in reviewed.findings],
        "remarks": list(reviewed.remarks),
    }
