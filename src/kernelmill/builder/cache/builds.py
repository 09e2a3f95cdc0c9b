"""Builds in a cache, under keys that say all that went into them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cache import entries
from kernelmill.builder.errors import SourceError
from kernelmill.builder.package import METADATA_NAME, replace_folder
from kernelmill.spec.nix_store import keyed_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.builder.cache.entries import Transfer
    from kernelmill.builder.cache.keys import SecretKey
    from kernelmill.builder.cache.places import Place
    from kernelmill.builder.cache.settings import Caches
    from kernelmill.spec.narinfo import NarInfo

_SCRATCH: Final = ".fetched-"


def build_path(key: str, variant: str) -> str:
    """Return where a build is.

    Args:
        key: of everything that it is made of; equal keys mean equal bytes.
        variant: its name.
    """
    return keyed_path(f"build:{key}", variant)


def push_build(folder: Path, build_key: str, place: Place, key: SecretKey) -> Transfer:
    """Send ``build/<variant>`` to a cache.

    Raises:
        SourceError: the folder is no build.
        CacheError: the cache refuses it, or has another build under this key.
    """
    folder = folder.resolve()
    if not (folder / METADATA_NAME).is_file():
        raise SourceError("this is no built variant", where=str(folder), hint="build it first")
    with tempfile.TemporaryDirectory() as scratch:
        path = build_path(build_key, folder.name)
        return entries.push(place, path, folder, key, scratch=Path(scratch))


def pull_build(
    build_key: str, variant: str, caches: Caches, target: Path, *, note: Callable[[str], None]
) -> Transfer | None:
    """Make ``target`` a build, from the first cache that has it; None if none does.

    Raises:
        EntryRefused: a cache has it, and it cannot be believed.
        CacheError: no cache has it, and one does not answer.
    """
    path = build_path(build_key, variant)

    def ask(place: Place) -> Transfer | None:
        info = entries.find(place, path, caches.trusted)
        return _fetch(place, info, target) if info else None

    transfer = caches.first(ask, note)
    if transfer:
        note(f"{variant}: from {transfer.address}: {transfer}")
    return transfer


def _fetch(place: Place, info: NarInfo, target: Path) -> Transfer:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=target.parent) as name:
        transfer = entries.fetch(place, info, Path(name) / "new")
        replace_folder(Path(name) / "new", target, trash=Path(name) / "old")
    return transfer
