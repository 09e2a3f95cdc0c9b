"""Collect the files that locked SDKs are made from, for a site that reaches no registry."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.fetch import get_file
from kernelmill.builder.sdk.recipes import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernelmill.builder.sdk.format import SdkInput, SdkRecord

_ENDINGS: Final = frozenset({".whl", ".deb"})
"""Of files that are published. Other inputs come out of another SDK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored:
    """What is in a mirror now."""

    files: tuple[str, ...]
    """Sorted."""
    added: int
    size_bytes: int


def mirror(
    records: Iterable[SdkRecord],
    folder: Path,
    *,
    offline: Path | None,
    note: Callable[[str], None],
) -> Mirrored:
    """Put every file that ``records`` name into ``folder``; those that are there stay.

    Args:
        records: of locked SDKs.
        folder: the mirror.
        offline: a folder to take files from, in place of registries.
        note: called with a line for each step.

    Raises:
        SdkError: a file cannot be had, or is not the one that is locked; whole files stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {(it.file, sdk.platform): it for sdk in records for it in sdk.inputs}
    kept = {key: it for key, it in sorted(wanted.items()) if Path(it.file).suffix in _ENDINGS}
    added = 0
    for (_, platform), it in kept.items():
        place = folder / it.file
        if not place.is_file() or _sha256(place) != it.sha256:
            _get(it, platform, place, offline=offline, note=note)
            added += 1
    files = tuple(sorted(it.file for it in kept.values()))
    size = sum((folder / it).stat().st_size for it in files)
    return Mirrored(files=files, added=added, size_bytes=size)


def _get(
    locked: SdkInput,
    platform: str,
    place: Path,
    *,
    offline: Path | None,
    note: Callable[[str], None],
) -> None:
    wanted = Wanted(
        name=locked.name,
        version=locked.version,
        known={locked.file: locked.sha256},
        source="debian" if place.suffix == ".deb" else "index",
    )
    with tempfile.TemporaryDirectory(prefix=".new-", dir=place.parent) as scratch:
        path, found = get_file(
            wanted, platform=platform, offline=offline, scratch=Path(scratch), note=note, cxx=""
        )
        if (found.file, found.sha256) != (locked.file, locked.sha256):
            raise SdkError(
                f"got {found.file} with sha256 {found.sha256}, want {locked.file} with "
                f"{locked.sha256}",
                where=locked.name,
                hint="take it from a mirror that has it, with --from FOLDER",
            )
        whole = Path(scratch) / f"whole{place.suffix}"
        shutil.copyfile(path, whole)
        whole.replace(place)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
