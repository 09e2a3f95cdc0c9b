"""Look once more at finished variants: before they are uploaded, or whenever somebody asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelmill.builder.check import Finding, require_no_findings
from kernelmill.builder.check.freshness import check_freshness
from kernelmill.builder.check.ops import check_operators
from kernelmill.builder.check.surface import check_surface, read_surface
from kernelmill.builder.check.variant import check_python, check_variant, python_files
from kernelmill.builder.errors import CheckError, SourceError
from kernelmill.builder.package import METADATA_NAME, OUTPUT_FOLDER, variant_files
from kernelmill.builder.toolchain.operators import load_operators
from kernelmill.builder.variants import variant_of
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.backend import Backend
from kernelmill.spec.digest import compare, digest_files
from kernelmill.spec.errors import InvalidVariant, MetadataError
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kernelmill.builder.check.surface import Entry
    from kernelmill.spec.metadata import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What is wrong with one variant; nothing is, when there are no findings."""

    folder: Path
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...] = ()
    """What could not be checked here."""


def review_build(root: Path, *, place: str = OUTPUT_FOLDER) -> tuple[str, ...]:
    """Check every variant in ``place`` and return their names.

    Args:
        root: the kernel's folder.
        place: the folder of the variants in it.

    Raises:
        SourceError: there are none.
        MetadataError: one has no readable metadata.
        CheckError: one is not what its metadata or today's sources say; lists every finding.
    """
    folder = root / place
    variants = sorted(it.parent for it in folder.glob(f"*/{METADATA_NAME}"))
    if not variants:
        raise SourceError(
            "no build variants here", where=str(folder), hint="run `kernel-builder build` first"
        )
    for variant in variants:
        require_no_findings(tuple(_review(variant, root)), where=str(variant))
    return tuple(it.name for it in variants)


def review_variants(
    folders: Sequence[Path], *, root: Path, known: tuple[Entry, ...] = ()
) -> tuple[Reviewed, ...]:
    """Check each of ``folders``; a variant that cannot be read does not hide the others.

    Args:
        folders: of the variants.
        root: the kernel's folder, whose sources they may have been built from.
        known: the API that they have to answer.
    """
    return tuple(
        Reviewed(
            folder=folder,
            findings=(*_readable(folder, root), *check_surface(known, surface_of(folder))),
        )
        for folder in folders
    )


def review_operators(reviewed: Reviewed, *, python: str) -> Reviewed:
    """Load one variant into another process, and add what its operators there lack.

    A pure Python variant registers what it likes, and is passed over. One for a GPU whose runtime
    this machine lacks cannot be loaded: that is remarked, and no finding.
    """
    folder = reviewed.folder
    variant = variant_of(folder)
    if not isinstance(variant, ArchVariant) or variant.framework.kind == "tvm-ffi":
        return reviewed
    try:
        operators = load_operators(folder, unique_id=_read_metadata(folder).id, python=python)
    except MetadataError:
        return reviewed  # a finding already
    except CheckError as error:
        if variant.compute.backend is not Backend.CPU:
            return replace(reviewed, remarks=(f"operators not checked: {error.problem}",))
        more: tuple[Finding, ...] = (Finding(problem=error.problem, hint=error.hint),)
    else:
        more = check_operators(operators)
    return replace(reviewed, findings=(*reviewed.findings, *more))


def surface_of(folder: Path) -> tuple[Entry, ...]:
    """Return the API of the Python package in a variant folder."""
    return read_surface(package_files(python_files(folder)))


def package_files(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the files of the package itself, which older builds keep in a folder of its own."""
    if "__init__.py" in files:
        return files
    inner = sorted(path for path in files if path.count("/") == 1 and path.endswith("/__init__.py"))
    prefix = inner[0].partition("/")[0] + "/" if inner else ""
    return {p.removeprefix(prefix): data for p, data in files.items() if p.startswith(prefix)}


def _readable(folder: Path, root: Path) -> Iterator[Finding]:
    try:
        yield from _review(folder, root)
    except (InvalidVariant, MetadataError) as error:
        yield Finding(problem=f"{error.where}: {error.problem}".removeprefix(": "), hint=error.hint)


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
    variant = parse_variant(folder.resolve().name)
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
