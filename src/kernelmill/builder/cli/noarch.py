"""``kernel-builder build`` for Python-only kernels, which need no tools at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import note, print_json
from kernelmill.builder.errors import PlanError
from kernelmill.builder.noarch.build import build_noarch
from kernelmill.builder.noarch.plan import choose_noarch, plan_noarch
from kernelmill.builder.wording import count_of

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.sources import KernelTree


def run_build(args: argparse.Namespace, tree: KernelTree) -> int:
    """Build the variants that ``args`` ask for, and print their folders."""
    if args.rocm:
        raise PlanError(
            "a Python-only kernel is linked for no ROCm", where="--rocm", hint="leave it out"
        )
    if args.torch:
        raise PlanError(
            "a Python-only kernel is compiled against no torch",
            where="--torch",
            hint="leave it out",
        )
    chosen = choose_noarch(tree, backends=args.backend or (), variants=args.variant or ())
    plans = [plan_noarch(tree, variant) for variant in chosen]
    folders = [build_noarch(plan, tree) for plan in plans]
    note(f"made {count_of(len(folders), 'variant')} of Python files; nothing was compiled")
    if args.json:
        variants = [
            {
                "variant": str(plan.variant),
                "folder": str(folder),
                "id": plan.ops_name,
                "archs": plan.archs,
                "cross": plan.is_cross,
            }
            for plan, folder in zip(plans, folders, strict=True)
        ]
        print_json({"variants": variants})
    else:
        print("\n".join(map(str, folders)))
    return 0
