"""Write the hash of every file of a variant into its metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.builder.package import METADATA_NAME, variant_files
from kernelmill.builder.variants import variant_of
from kernelmill.builder.writing import replace_text
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.digest import SIGNATURE_FILE, SIGSTORE_FILE, digest_files

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """What was done to one variant."""

    folder: Path
    file_count: int
    is_changed: bool
    stale_signatures: tuple[str, ...]
    """Signatures of the metadata as it was before."""


def hash_variant(folder: Path) -> Hashed:
    """Make the digest in ``metadata.json`` that of the files beside it, all at once.

    Raises:
        MetadataError: the metadata cannot be read.
        OSError: it cannot be written; the old one is untouched.
    """
    path = folder / METADATA_NAME
    text = path.read_text(encoding="utf-8", errors="backslashreplace")
    metadata = metadata_format.parse(
        text, where=str(path), variant=variant_of(folder), name=folder.name
    )
    digest = digest_files(variant_files(folder))
    is_changed = digest != metadata.digest
    if is_changed:
        replace_text(path, metadata_format.with_digest(text, digest))
    signatures = (SIGSTORE_FILE, SIGNATURE_FILE) if is_changed else ()
    return Hashed(
        folder=folder,
        file_count=len(digest.files),
        is_changed=is_changed,
        stale_signatures=tuple(name for name in signatures if (folder / name).exists()),
    )
