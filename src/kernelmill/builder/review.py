"""Look once more at finished variants before they are uploaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding, require_no_findings
from kernelmill.builder.check.freshness import check_freshness
from kernelmill.builder.check.variant import check_python, check_variant
from kernelmill.builder.errors import SourceError
from kernelmill.builder.package import METADATA_NAME, OUTPUT_FOLDER, variant_files
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.digest import compare, digest_files
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.spec.metadata import Metadata


def review_build(root: Path) -> tuple[str, ...]:
    """Check every variant in ``build`` and return their names.

    Args:
        root: the kernel's folder.

    Raises:
        SourceError: there are none.
        MetadataError: one has no readable metadata.
        CheckError: one is not what its metadata or today's sources say; lists every finding.
    """
    folder = root / OUTPUT_FOLDER
    variants = sorted(it.parent for it in folder.glob(f"*/{METADATA_NAME}"))
    if not variants:
        raise SourceError(
            "no build variants here", where=str(folder), hint="run `kernel-builder build` first"
        )
    for variant in variants:
        require_no_findings(tuple(_review(variant, root)), where=str(variant))
    return tuple(it.name for it in variants)


def require_fresh(folder: Path, root: Path) -> None:
    """Stop here when the variant in ``folder`` was built from other sources than those in ``root``.

    Raises:
        CheckError: it was.
        InputError: its metadata or the sources cannot be read.
    """
    variant = parse_variant(folder.name)
    findings = check_freshness(root, _read_metadata(folder), variant)
    require_no_findings(findings, where=str(folder))


def _read_metadata(folder: Path) -> Metadata:
    # What is not UTF-8 becomes an escape that is not JSON, which the reader reports.
    text = (folder / METADATA_NAME).read_text(encoding="utf-8", errors="backslashreplace")
    return metadata_format.parse(text, where=str(folder / METADATA_NAME))


def _review(folder: Path, root: Path) -> Iterator[Finding]:
    variant = parse_variant(folder.name)
    metadata = _read_metadata(folder)
    if metadata.digest is not None:
        actual = digest_files(variant_files(folder), algorithm=metadata.digest.algorithm)
        for violation in compare(metadata.digest, actual):
            yield Finding(problem=str(violation), hint="build it again")
    if isinstance(variant, ArchVariant):
        yield from check_variant(folder, metadata, variant)
    else:
        yield from check_python(folder, metadata)
    yield from check_freshness(root, metadata, variant)
