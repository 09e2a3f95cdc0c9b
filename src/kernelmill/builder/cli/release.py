"""``kernel-builder build --release``: locked, in a sandbox, checked, with its provenance."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from kernelmill.builder import request
from kernelmill.builder.cache.releases import orders_of, pull_release
from kernelmill.builder.cache.settings import read_caches
from kernelmill.builder.cli.options import note, print_json
from kernelmill.builder.cli.summary import outcome_json, summary
from kernelmill.builder.compile import step_of
from kernelmill.builder.errors import CacheError, PlanError
from kernelmill.builder.inside.order import Order
from kernelmill.builder.inside.statement import file_hashes
from kernelmill.builder.job import Outcome
from kernelmill.builder.locking.expected import covered
from kernelmill.builder.locking.files import read_expected, read_lock, write_expected
from kernelmill.builder.locking.format import LOCK_NAME
from kernelmill.builder.locking.needs import ROOT
from kernelmill.builder.locking.trees import LockedStore
from kernelmill.builder.package import OUTPUT_FOLDER, read_metadata
from kernelmill.builder.release import build_release
from kernelmill.builder.sandbox.choice import probe_sandbox
from kernelmill.builder.sdk.store import open_store
from kernelmill.builder.sources import MANIFEST_NAME
from kernelmill.builder.toolchain.git import probe_source_state
from kernelmill.spec.errors import KernelError
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kernelmill.builder.locking.format import Lock
    from kernelmill.builder.sandbox.choice import Sandbox
    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.metadata import SourceState
    from kernelmill.spec.variant import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the release builds of one kernel share."""

    tree: KernelTree
    lock: Lock
    lock_sha256: str
    store: LockedStore
    sandbox: Sandbox | None
    source: SourceState | None

    def order(self, variant: Variant) -> Order:
        """Return what a build of ``variant`` is told."""
        return Order(
            variant=str(variant),
            sdks=self.lock.sdks_of(str(variant)),
            lock_sha256=self.lock_sha256,
            source=self.source,
            isolation="sandbox" if self.sandbox else "none",
        )


def run_build(args: argparse.Namespace, tree: KernelTree) -> int:
    """Build the locked variants that ``args`` ask for, and print their folders."""
    _check_options(args)
    lock, sha256 = read_lock(tree.root)
    variants = _choose(args, lock)
    # What is recorded was made here.
    fetched = {} if args.no_cache or args.record_hashes else _fetch(tree, lock, sha256, variants)
    outcomes = list(fetched.values())
    left = [it for it in variants if str(it) not in fetched]
    if left:
        around = look_around(tree, lock, sha256, allow_bare=args.allow_unsandboxed)
        outcomes += [_build(it, around, args, len(variants)) for it in left]
    if args.record_hashes:
        _record(tree, lock, outcomes)
    if len(outcomes) > 1 and not tree.is_python_only:
        note(summary(outcomes))
    if args.json:
        print_json({"variants": [outcome_json(it) for it in outcomes]})
    else:
        print("".join(f"{it.folder}\n" for it in outcomes if it.folder), end="")
    return 0 if all(it.result == "built" for it in outcomes) else 1


def _fetch(
    tree: KernelTree, lock: Lock, lock_sha256: str, variants: Sequence[Variant]
) -> dict[str, Outcome]:
    """Return what became of the variants that a cache has; the others are to be built."""
    caches = read_caches(os.environ)
    fetched: dict[str, Outcome] = {}
    if not caches.places:
        return fetched
    for order in orders_of(tree, lock, lock_sha256, map(str, variants)):
        started = time.monotonic()
        try:
            folder = pull_release(tree, order, tree.root / OUTPUT_FOLDER, caches, note=note)
        except CacheError as error:
            note(f"{error}\nbuilding {order.variant} here instead")
            continue
        if folder:
            fetched[order.variant] = _described(order, folder, started)
    return fetched


def _record(tree: KernelTree, lock: Lock, outcomes: Sequence[Outcome]) -> None:
    """Write the hashes of what was built; those of other locked variants stay."""
    kept = {name: it for name, it in read_expected(tree.root).items() if name in lock.variants}
    new = {it.variant: covered(file_hashes(it.folder)) for it in outcomes if it.folder}
    write_expected(tree.root, {**kept, **new})


def _check_options(args: argparse.Namespace) -> None:
    for flag, value in (("--rocm", args.rocm), ("--available", args.available)):
        if value:
            raise PlanError(
                f"{flag} does not go with --release: {LOCK_NAME} says what there is",
                hint="name variants with --variant",
            )
    if args.executor:
        raise PlanError(
            "release builds are made one after another", where="--executor", hint="leave it out"
        )
    if args.manylinux is False:
        raise PlanError("a release build is for manylinux_2_28", hint="leave out --no-manylinux")


def look_around(tree: KernelTree, lock: Lock, sha256: str, *, allow_bare: bool) -> Surroundings:
    """Return what release builds of ``tree`` find here.

    Raises:
        NoSandbox: there is none, and building without one is not accepted.
    """
    store = LockedStore(open_store(os.environ))
    return Surroundings(
        tree=tree,
        lock=lock,
        lock_sha256=sha256,
        store=store,
        sandbox=_sandbox(lock, store, allow_bare=allow_bare),
        source=probe_source_state(tree.root, (MANIFEST_NAME, LOCK_NAME, *tree.files)),
    )


def _sandbox(lock: Lock, store: LockedStore, *, allow_bare: bool) -> Sandbox | None:
    (root,) = (it for it in lock.sdks.values() if ROOT.is_met_by(it))
    try:
        return probe_sandbox(os.environ, root=store.tree_of(root))
    except KernelError as error:
        if not allow_bare:
            raise
        note(f"{error.problem}: building without one")
        return None


def _choose(args: argparse.Namespace, lock: Lock) -> tuple[Variant, ...]:
    if args.variant:
        names = [name.strip() for word in args.variant for name in word.split(",")]
        for name in names:
            lock.sdks_of(name)
        return tuple(parse_variant(it) for it in dict.fromkeys(names))
    backends = request.parse_backends(args.backend or (), where="--backend")
    torches = request.parse_torches(args.torch or ())
    locked = [parse_variant(it) for it in lock.variants]
    chosen = tuple(it for it in locked if _is_asked_for(it, backends, torches))
    if not chosen:
        raise PlanError(f"{LOCK_NAME} has no such variant", hint="`kernel-builder lock` adds it")
    return chosen


def _is_asked_for(
    variant: Variant, backends: Sequence[object], torches: Sequence[tuple[int, int]] | None
) -> bool:
    if not isinstance(variant, ArchVariant):
        return not backends and not torches
    is_backend = not backends or variant.compute.backend in backends
    return is_backend and (torches is None or variant.framework.version in torches)


def _build(variant: Variant, around: Surroundings, args: argparse.Namespace, count: int) -> Outcome:
    def on_line(line: str) -> None:
        if shown := line.rstrip() if args.verbose else step_of(line):
            note(f"  {shown}")

    started = time.monotonic()
    where = around.sandbox.kind if around.sandbox else "no sandbox"
    note(f"building {variant} for release ({where})")
    try:
        jobs = str(args.jobs or os.environ.get("MAX_JOBS", ""))
        outcome = _outcome(variant, around, on_line, started, jobs=jobs)
    except KernelError as error:
        if count == 1:
            raise
        note(f"{variant}: {error}")
        outcome = Outcome(result="failed", variant=str(variant), error=error)
    note(f"{outcome.result} {variant} in {time.monotonic() - started:.1f} s")
    return outcome


def _outcome(
    variant: Variant,
    around: Surroundings,
    on_line: Callable[[str], None],
    started: float,
    *,
    jobs: str,
) -> Outcome:
    order = around.order(variant)
    built = build_release(
        around.tree,
        order,
        {it.name: around.store.tree_of(it) for it in order.sdks},
        around.sandbox,
        jobs=jobs,
        on_line=on_line,
    )
    return _described(order, built.folder, started)


def _described(order: Order, folder: Path, started: float) -> Outcome:
    metadata = read_metadata(folder)
    torch = [it.version for it in order.sdks if it.kind == "torch"]
    return Outcome(
        result="built",
        variant=order.variant,
        torch="".join(torch),
        folder=folder,
        id=metadata.id,
        archs=metadata.archs,
        is_cross=bool(metadata.build and metadata.build.is_cross),
        is_portable=True,
        seconds=time.monotonic() - started,
    )
