"""``kernel-builder build``: build a kernel against the installed torch."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from kernelmill.builder import pipeline, request, sources, toolchain
from kernelmill.builder.cli.options import add_backend, add_folder, add_json, note, print_json

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.pipeline import BuiltKernel

HELP = "build a kernel into build/<variant>/, against the installed torch"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add_backend(parser)
    parser.add_argument("--variant", metavar="NAME", help="the one variant to build")
    parser.add_argument("--rocm", metavar="M.m", help="the ROCm to link for")
    add_json(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print every step")


def run(args: argparse.Namespace) -> int:
    """Build, and print the folders of the variants."""
    tree = sources.read_tree(args.dir.resolve())
    tools = toolchain.probe_toolchain(os.environ, python=sys.executable)
    wanted = request.parse_request(
        tree.manifest, backends=args.backend, variant=args.variant, rocm=args.rocm
    )
    plans = pipeline.plan_variants(tree, tools, wanted)
    built: list[BuiltKernel] = []
    for plan in plans:
        started = time.monotonic()
        note(f"building {plan.variant} with {plan.jobs} job(s)")
        built.append(
            pipeline.build_variant(
                plan, tree, tools, env=os.environ, on_step=lambda s: note(f"  {s}")
            )
        )
        note(f"built {plan.variant} in {time.monotonic() - started:.1f} s")
    _print_result(built, is_json=args.json)
    return 0


def _print_result(built: list[BuiltKernel], *, is_json: bool) -> None:
    if is_json:
        variants = [
            {
                "variant": str(it.plan.variant),
                "folder": str(it.folder),
                "id": it.metadata.id,
                "archs": it.metadata.archs,
                "cross": it.plan.is_cross,
            }
            for it in built
        ]
        print_json({"variants": variants})
    else:
        print("\n".join(str(it.folder) for it in built))
