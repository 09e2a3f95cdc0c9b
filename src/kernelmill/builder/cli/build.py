"""``kernel-builder build``: build a kernel against the installed torch."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from kernelmill.builder import pipeline, request, sources, toolchain
from kernelmill.builder.backends import BACKENDS
from kernelmill.builder.cli import noarch
from kernelmill.builder.cli.options import add_backend, add_folder, add_json, note, print_json
from kernelmill.builder.compile import step_of
from kernelmill.builder.wording import count_of

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.pipeline import BuiltKernel
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain

HELP = "build a kernel into build/<variant>/, against the installed torch"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add_backend(parser)
    parser.add_argument("--variant", metavar="NAME", help="the one variant to build")
    parser.add_argument("--rocm", metavar="M.m", help="the ROCm to link for")
    add_json(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print what the tools print")


def run(args: argparse.Namespace) -> int:
    """Build, and print the folders of the variants."""
    tree = sources.read_tree(args.dir.resolve())
    if tree.is_python_only:
        return noarch.run_build(args, tree)
    wanted = request.parse_request(
        tree.manifest, backends=args.backend, variant=args.variant, rocm=args.rocm
    )
    for backend in wanted.skipped:
        note(f"leaving out {backend}: this version builds for {' and '.join(BACKENDS)}")
    tools = toolchain.probe_toolchain(os.environ, python=sys.executable)
    plans = pipeline.plan_variants(tree, tools, wanted)
    built = [_build(plan, tree, tools, is_verbose=args.verbose) for plan in plans]
    _print_result(built, is_json=args.json)
    return 0


def _build(plan: BuildPlan, tree: KernelTree, tools: Toolchain, *, is_verbose: bool) -> BuiltKernel:
    started = time.monotonic()
    note(f"building {plan.variant} with {count_of(plan.jobs, 'job')}")
    warnings: list[str] = []

    def on_line(line: str) -> None:
        if ": warning: " in line:
            warnings.append(line)
        if shown := line.rstrip() if is_verbose else step_of(line):
            note(f"  {shown}")

    built = pipeline.build_variant(plan, tree, tools, env=os.environ, on_line=on_line)
    counted = f", {count_of(len(warnings), 'warning')}: see them with -v" if warnings else ""
    note(f"built {plan.variant} in {time.monotonic() - started:.1f} s{counted}")
    return built


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
