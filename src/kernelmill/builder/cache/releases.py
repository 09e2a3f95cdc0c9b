"""Release builds in a cache: their key follows from sources, lock and builder."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cache.builds import pull_build, push_build, statement_of
from kernelmill.builder.check.freshness import check_freshness
from kernelmill.builder.errors import SourceError
from kernelmill.builder.inside.order import Order
from kernelmill.builder.locking.files import read_lock
from kernelmill.builder.locking.format import LOCK_NAME
from kernelmill.builder.locking.key import build_key
from kernelmill.builder.package import OUTPUT_FOLDER, read_metadata, variant_files
from kernelmill.builder.sandbox.contents import copy_package
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sources import MANIFEST_NAME, read_tree
from kernelmill.builder.toolchain.git import probe_source_state
from kernelmill.spec.digest import compare, digest_files
from kernelmill.spec.variant import parse_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernelmill.builder.cache.entries import Transfer
    from kernelmill.builder.cache.keys import SecretKey
    from kernelmill.builder.cache.places import Place
    from kernelmill.builder.cache.settings import Caches
    from kernelmill.builder.locking.format import Lock
    from kernelmill.builder.sources import KernelTree


def push_releases(
    root: Path, place: Place, key: SecretKey, *, note: Callable[[str], None]
) -> list[Transfer]:
    """Send the release builds of a kernel to a cache.

    Raises:
        SourceError: there is none, or what is there is not what a build would make now.
        CacheError: the cache refuses one.
    """
    tree, (lock, lock_sha256) = read_tree(root), read_lock(root)
    orders = []
    for order in orders_of(tree, lock, lock_sha256, lock.variants):
        folder = root / OUTPUT_FOLDER / order.variant
        if not statement_of(folder).is_file():
            note(f"{order.variant} is not built for release: left out")
            continue
        _check(folder, order)
        orders.append(order)
    if not orders:
        raise SourceError(
            "no release builds here", where=str(root), hint="kernel-builder build --release"
        )
    folders = [root / OUTPUT_FOLDER / it.variant for it in orders]
    return [
        push_build(folder, release_key(tree, order), place, key)
        for folder, order in zip(folders, orders, strict=True)
    ]


def pull_release(
    tree: KernelTree, order: Order, output: Path, caches: Caches, *, note: Callable[[str], None]
) -> Path | None:
    """Fetch what a release build would make, and return its folder; None if no cache has it.

    Raises: as ``pull_build``.
    """
    folder = output / order.variant
    return folder if pull_build(release_key(tree, order), folder, caches, note=note) else None


def orders_of(
    tree: KernelTree, lock: Lock, lock_sha256: str, variants: Iterable[str]
) -> list[Order]:
    """Return what release builds of ``variants`` in a sandbox are told."""
    source = probe_source_state(tree.root, (MANIFEST_NAME, LOCK_NAME, *tree.files))
    return [
        Order(variant=it, sdks=lock.sdks_of(it), lock_sha256=lock_sha256, source=source)
        for it in variants
    ]


def release_key(tree: KernelTree, order: Order) -> str:
    """Return the key of a release build."""
    return build_key(tree, order, builder_sha256=_builder_sha256())


@cache
def _builder_sha256() -> str:
    with tempfile.TemporaryDirectory() as name:
        copy_package(Path(name) / "builder")
        return nar_sha256(Path(name) / "builder")


def _check(folder: Path, order: Order) -> None:
    """Refuse to vouch for a build that is not what its key says."""
    metadata = read_metadata(folder)
    record, kernel = metadata.build, metadata.provenance and metadata.provenance.kernel
    problem = ""
    if record is None or (record.mode, record.isolation) != ("release", "sandbox"):
        problem = "this was not built in a sandbox"
    elif record.inputs.get("kernelmill") != _builder_sha256():
        problem = "this was built by another version of kernelmill"
    elif record.inputs.get(LOCK_NAME) != order.lock_sha256:
        problem = f"{LOCK_NAME} has changed since this build"
    elif (kernel and kernel.commit) != (order.source and order.source.commit):
        problem = "this was built from another commit"
    elif order.source and order.source.is_dirty:
        problem = "the sources have changes that no commit has"
    elif check_freshness(folder.parent.parent, metadata, parse_variant(order.variant)):
        problem = "the sources have changed since this build"
    elif metadata.digest is None or compare(
        metadata.digest, digest_files(variant_files(folder), algorithm=metadata.digest.algorithm)
    ):
        problem = "its files are not those that were built"
    if problem:
        raise SourceError(problem, where=str(folder), hint="kernel-builder build --release")
