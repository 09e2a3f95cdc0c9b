"""Whether a finished variant was built from the sources that are there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding
from kernelmill.builder.plan import ops_name, unique_id
from kernelmill.builder.sources import MANIFEST_NAME, files_of, read_tree
from kernelmill.spec.variant import NoarchVariant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.variant import Variant


def check_freshness(root: Path, metadata: Metadata, variant: Variant) -> tuple[Finding, ...]:
    """Compare the id in ``metadata`` with the one that the sources in ``root`` give today.

    Builds of other builders make their ids in other ways, and are passed over; so are builds that
    were taken away from their sources.

    Raises:
        InputError: the sources cannot be read any more.
    """
    if metadata.build is None or not (root / MANIFEST_NAME).exists():
        return ()
    tree = read_tree(root)
    if metadata.id == todays_name(tree, variant):
        return ()
    return (
        Finding(
            problem="the sources have changed since this build",
            hint=f"run `kernel-builder build --variant {variant}`",
        ),
    )


def todays_name(tree: KernelTree, variant: Variant) -> str:
    """Return the id that a build of these sources has."""
    if isinstance(variant, NoarchVariant):
        name, files = variant.name, tree.files
    else:
        name, files = variant.compute.backend, files_of(tree, variant.compute.backend)
    identity = unique_id(files, manifest_sha256=tree.manifest_sha256, backend=name, variant=variant)
    return ops_name(tree.manifest, name, identity)
