"""Look once more at finished variants before they are uploaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding, require_no_findings
from kernelmill.builder.check.variant import check_variant
from kernelmill.builder.errors import SourceError
from kernelmill.builder.package import METADATA_NAME, variant_files
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.digest import compare, digest_files
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def review_build(folder: Path) -> tuple[str, ...]:
    """Check every variant in ``folder`` and return their names.

    Args:
        folder: the kernel's ``build`` folder.

    Raises:
        SourceError: there are none.
        MetadataError: one has no readable metadata.
        CheckError: one is not what its metadata says; lists every finding.
    """
    variants = sorted(it.parent for it in folder.glob(f"*/{METADATA_NAME}"))
    if not variants:
        raise SourceError(
            "no build variants here", where=str(folder), hint="run `kernel-builder build` first"
        )
    for variant in variants:
        require_no_findings(tuple(_review(variant)), where=str(variant))
    return tuple(it.name for it in variants)


def _review(folder: Path) -> Iterator[Finding]:
    variant = parse_variant(folder.name)
    # What is not UTF-8 becomes an escape that is not JSON, which the reader reports.
    text = (folder / METADATA_NAME).read_text(encoding="utf-8", errors="backslashreplace")
    metadata = metadata_format.parse(text, where=str(folder / METADATA_NAME))
    if metadata.digest is not None:
        actual = digest_files(variant_files(folder), algorithm=metadata.digest.algorithm)
        for violation in compare(metadata.digest, actual):
            yield Finding(problem=str(violation), hint="build it again")
    if isinstance(variant, ArchVariant):
        yield from check_variant(folder, metadata, variant)
