"""Put a compiled variant into its folder, all at once."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from kernelmill import __version__
from kernelmill.builder.render.metadata import draft_metadata
from kernelmill.builder.writing import remove
from kernelmill.spec.digest import digest_files, is_covered
from kernelmill.spec.errors import MetadataError
from kernelmill.spec.metadata import BuildRecord, Metadata, Provenance, SourceState, dumps, parse
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kernelmill.builder.render.metadata import Build
    from kernelmill.spec.metadata import BuildMode, Isolation

METADATA_NAME = "metadata.json"
OUTPUT_FOLDER = "build"
"""Where finished variants are, in the kernel's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a build is told of itself, where it could not find it out or must not look."""

    source: SourceState | None = None
    """The commit of the kernel's sources."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name -> sha256 of what decides the build, beside sources and SDKs: its lock."""
    mode: BuildMode = "develop"
    isolation: Isolation | None = None
    """What kept everything else away from a release build."""


def variant_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every file below ``folder`` that a digest covers, sorted."""
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return ((path, (folder / path).read_bytes()) for path in paths if is_covered(path))


def finish_metadata(
    plan: Build,
    folder: Path,
    *,
    source: SourceState | None,
    compilers: Mapping[str, str],
    inputs: Mapping[str, str],
    origin: Origin | None = None,
) -> Metadata:
    """Return the metadata of the files in ``folder``: what they are and where they come from.

    Args:
        plan: what was built.
        folder: holds the files.
        source: the commit of the kernel's sources.
        compilers: role -> version.
        inputs: name -> sha256.
        origin: what a release build was told.
    """
    told = origin or Origin()
    builder = SourceState(version=__version__)
    return replace(
        draft_metadata(plan),
        digest=digest_files(variant_files(folder)),
        provenance=Provenance(kernel_builder=builder, kernel=source or SourceState()),
        build=BuildRecord(
            mode=told.mode,
            isolation=told.isolation,
            is_cross=plan.is_cross,
            compilers=compilers,
            inputs={**inputs, **told.inputs},
        ),
    )


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write ``metadata.json``, the last file of a variant."""
    (folder / METADATA_NAME).write_text(dumps(metadata), encoding="utf-8", newline="\n")


def read_metadata(folder: Path) -> Metadata:
    """Return the metadata of the variant in ``folder``.

    Raises:
        MetadataError: there is none, or it cannot be read; names the file.
    """
    place = folder / METADATA_NAME
    try:
        content = place.read_text(encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise MetadataError(
            f"cannot be read: {error.strerror}", where=str(place), hint="build the variant again"
        ) from error
    return parse(content, where=str(place))


def replace_folder(new: Path, target: Path, *, trash: Path) -> None:
    """Make ``new`` the folder ``target``; what was there before disappears as a whole.

    A crash leaves the old folder or the new one, or, between two renames, neither under its name
    but both whole.

    Args:
        new: a complete folder on the same file system.
        target: the place, which may exist.
        trash: a free name on the same file system.
    """
    remove(trash)
    target.parent.mkdir(parents=True, exist_ok=True)
    had_one = os.path.lexists(target)  # a link, and a file too: it gives way, as a folder does
    if had_one:
        target.rename(trash)
    try:
        new.rename(target)
    except OSError:
        if had_one:
            trash.rename(target)
        raise
    with suppress(OSError):
        remove(trash)
