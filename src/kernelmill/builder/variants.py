"""Find finished variants on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SourceError
from kernelmill.builder.package import METADATA_NAME, OUTPUT_FOLDER
from kernelmill.spec.errors import InvalidVariant
from kernelmill.spec.variant import parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.spec.variant import Variant

PLACES: Final = ("result", OUTPUT_FOLDER, ".")
"""Where variants are: what Nix links, what builds write, the folder itself."""
_EXTENSIONS: Final = frozenset({".so", ".pyd", ".dylib"})


def find_variants(folder: Path) -> tuple[Path, ...]:
    """Return the variant folders below ``folder``, sorted; the first of ``PLACES`` that has any.

    A variant's own folder is its only variant.

    Raises:
        SourceError: there are none.
    """
    if (folder / METADATA_NAME).is_file():
        return (folder,)
    for place in PLACES:
        if found := sorted(it.parent for it in (folder / place).glob(f"*/{METADATA_NAME}")):
            return tuple(found)
    raise SourceError(
        f"No build variants found in {folder}",
        hint="run `kernel-builder build` first, or name the folder of the variants",
    )


def find_extensions(folder: Path) -> Iterator[Path]:
    """Yield every compiled file below ``folder``, sorted."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in _EXTENSIONS and path.is_file():
            yield path


def variant_of(folder: Path) -> Variant | None:
    """Return the variant that a folder is named for; None when its name is not a variant's."""
    try:
        return parse_variant(folder.resolve().name)
    except InvalidVariant:
        return None
