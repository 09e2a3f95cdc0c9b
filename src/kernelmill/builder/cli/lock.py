"""``kernel-builder lock``: name every input of the release builds of a kernel, once for all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_folder, add_json, note, print_json
from kernelmill.builder.errors import PlanError
from kernelmill.builder.locking.checking import check_lock
from kernelmill.builder.locking.errors import BuildLockError
from kernelmill.builder.locking.files import read_lock, write_lock
from kernelmill.builder.locking.format import LOCK_NAME, Lock
from kernelmill.builder.locking.making import Locking, make_lock
from kernelmill.builder.locking.needs import depends_of, needs_of
from kernelmill.builder.locking.variants import list_variants
from kernelmill.builder.sdk.recipes import recipes
from kernelmill.builder.sdk.store import open_store
from kernelmill.builder.sources import read_tree
from kernelmill.builder.toolchain.host import probe_cpu
from kernelmill.builder.wording import count_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from kernelmill.builder.locking.needs import Need
    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.variant import Variant

HELP = "write build.lock: every input of the release builds of a kernel, by name and hash"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument(
        "--variant",
        action="append",
        metavar="NAME",
        help="a variant that has to be locked; by default all whose SDKs are here",
    )
    parser.add_argument(
        "--update",
        action="append",
        metavar="NAME",
        help="an SDK, or a kind of SDKs, to take as it is here now; others stay as they are locked",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if it is old")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the lock, or check it."""
    root = args.dir.resolve()
    tree = read_tree(root)
    variants = list_variants(tree, platform=f"{probe_cpu()}-linux")
    records = [it.record for it in open_store(os.environ).installed()]
    if args.check:
        if args.update or args.variant:
            raise PlanError("--check writes nothing", hint="leave out --update and --variant")
        return _check(tree, variants, records, is_json=args.json)
    old = read_lock(root)[0] if (root / LOCK_NAME).exists() else Lock()
    _check_names(args.update or (), old)
    made = make_lock(variants, records, old, updated=args.update or (), needs_for=_needs_for(tree))
    _require(args.variant or (), made, variants)
    is_changed = write_lock(root, made.lock)
    _tell(made)
    if args.json:
        print_json({"changed": is_changed, **_as_json(made)})
    else:
        print(root / LOCK_NAME)
    return 0


def _needs_for(tree: KernelTree) -> Callable[[Variant], Sequence[Need]]:
    return lambda variant: needs_of(variant, depends_of(tree.manifest, variant))


def _check(
    tree: KernelTree, variants: Sequence[Variant], records: Sequence[SdkRecord], *, is_json: bool
) -> int:
    lock, sha256 = read_lock(tree.root)
    findings = check_lock(lock, variants, records, needs_for=_needs_for(tree))
    open_variants = sorted({str(it) for it in variants} - set(lock.variants))
    if is_json:
        print_json({"sha256": sha256, "findings": findings, "not-locked": open_variants})
    else:
        for finding in findings:
            print(f"{LOCK_NAME}: {finding}")
        if open_variants:
            note(f"not locked: {', '.join(open_variants)}")
    if findings:
        note("hint: `kernel-builder lock --update NAME`")
    return 1 if findings else 0


def _check_names(names: Sequence[str], old: Lock) -> None:
    known = {name for it in old.sdks.values() for name in (it.name, it.kind)}
    for name in names:
        if name not in known:
            raise PlanError(
                f"{name!r} is not locked",
                where="--update",
                hint=f"one of {', '.join(sorted(known))}" if known else "leave it out",
            )


def _require(names: Sequence[str], made: Locking, variants: Sequence[Variant]) -> None:
    for name in names:
        if name in made.missing:
            wanted = " ".join(need.name for need in made.missing[name])
            raise BuildLockError(
                f"{name} cannot be locked: SDKs are missing",
                where="--variant",
                hint=f"kernel-builder sdk fetch {wanted}",
            )
        if name not in made.lock.variants:
            raise PlanError(
                f"{name!r} is no variant of this kernel",
                where="--variant",
                hint=f"one of {', '.join(map(str, variants))}",
            )
    if not made.lock.variants:
        known = recipes()
        # No recipe makes some of what CUDA 12 needs: a variant that waits for it is not promised.
        possible = [it for it in made.missing.values() if all(need.kind in known for need in it)]
        wanted = " ".join(sorted({need.name for needs in possible for need in needs}))
        raise BuildLockError(
            "nothing can be locked: SDKs are missing",
            hint=f"kernel-builder sdk fetch {wanted}; or fewer, with --variant" if wanted else "",
        )


def _tell(made: Locking) -> None:
    sdks = count_of(len(made.lock.sdks), "SDK")
    note(f"locked {count_of(len(made.lock.variants), 'variant')} to {sdks}")
    for name, needs in made.missing.items():
        note(f"left out {name}: not here: {', '.join(it.name for it in needs)}")


def _as_json(made: Locking) -> dict[str, object]:
    return {
        "variants": dict(sorted(made.lock.variants.items())),
        "missing": {
            name: [it.name for it in needs] for name, needs in sorted(made.missing.items())
        },
    }
