"""Take in a variant that another machine built: read it first, then put it into its place."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelmill.builder.check import require_no_findings
from kernelmill.builder.check.freshness import todays_name
from kernelmill.builder.check.variant import check_variant
from kernelmill.builder.errors import CheckError
from kernelmill.builder.package import (
    METADATA_NAME,
    OUTPUT_FOLDER,
    replace_folder,
    write_metadata,
)
from kernelmill.builder.runners.parcel import write_files
from kernelmill.builder.sources import built_from
from kernelmill.builder.toolchain.git import probe_source_state
from kernelmill.builder.workplace import WORK_FOLDER, clear, make_folder, only_build
from kernelmill.spec.digest import compare, digest_files, is_covered
from kernelmill.spec.metadata import Provenance, SourceState, parse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelmill.builder.runners.parcel import File
    from kernelmill.builder.sources import KernelTree
    from kernelmill.spec.metadata import Metadata
    from kernelmill.spec.variant import ArchVariant


def install_variant(files: Sequence[File], tree: KernelTree, variant: ArchVariant) -> Path:
    """Put a variant into ``build/``, all at once, and return its folder.

    Args:
        files: the variant's.
        tree: the sources that it was built from.
        variant: what was asked for.

    Raises:
        CheckError: it is not what its metadata says, or was built from other sources.
        HostError: the variant is being built here too, or cannot be written.
    """
    metadata = read_metadata(files, tree, variant)
    work = tree.root / WORK_FOLDER / str(variant)
    make_folder(work)
    target = tree.root / OUTPUT_FOLDER / str(variant)
    with only_build(work):
        arrived = work / "arrived"
        clear(arrived)
        write_files(files, arrived)
        require_no_findings(check_variant(arrived, metadata, variant), where=str(variant))
        write_metadata(arrived, _with_commit(metadata, tree))
        replace_folder(arrived, target, trash=work / "old")
    return target


def read_metadata(files: Sequence[File], tree: KernelTree, variant: ArchVariant) -> Metadata:
    """Return the metadata among ``files``, which are what it says.

    Raises:
        CheckError: they are not, or are built from other sources than ``tree``.
    """
    where = str(variant)
    text = next((it.content for it in files if it.path == METADATA_NAME), b"")
    metadata = parse(text.decode("utf-8", errors="replace"), where=f"{where}/{METADATA_NAME}")
    for path, times in Counter(it.path for it in files).items():
        if times > 1 or not (is_covered(path) or path == METADATA_NAME):
            raise CheckError(
                f"the build that arrived holds {path!r}, which no digest covers",
                where=where,
                hint="do not use this cluster",
            )
    content = digest_files((it.path, it.content) for it in files)
    if metadata.digest is None:
        raise CheckError("the build that arrived has no digest", where=where, hint="build it here")
    if found := compare(metadata.digest, content):
        raise CheckError(
            f"the build arrived damaged: {found[0]}", where=where, hint="build once more"
        )
    wanted = todays_name(tree, variant)
    if metadata.id != wanted:
        raise CheckError(
            f"the build that arrived is called {metadata.id!r}; these sources give {wanted!r}",
            where=where,
            hint="build once more; every machine needs the same kernelmill",
        )
    return metadata


def _with_commit(metadata: Metadata, tree: KernelTree) -> Metadata:
    """Return the metadata with the commit of the sources, which the other machine cannot know."""
    source = probe_source_state(tree.root, built_from(tree, metadata.backend)) or SourceState()
    made_by = metadata.provenance.kernel_builder if metadata.provenance else SourceState()
    return replace(metadata, provenance=Provenance(kernel_builder=made_by, kernel=source))
