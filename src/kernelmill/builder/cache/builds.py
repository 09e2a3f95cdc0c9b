"""Builds in a cache, under keys that say all that went into them.

An entry holds the variant's folder and, of a release build, the statement about it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cache import entries
from kernelmill.builder.errors import EntryRefused, SourceError
from kernelmill.builder.inside.places import STATEMENT_SUFFIX
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
    """Send ``build/<variant>`` to a cache, and the statement beside it if there is one.

    Raises:
        SourceError: the folder is no build.
        CacheError: the cache refuses it, or has another build under this key.
    """
    folder = folder.resolve()
    if not (folder / METADATA_NAME).is_file():
        raise SourceError("this is no built variant", where=str(folder), hint="build it first")
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "whole"
        shutil.copytree(folder, whole / folder.name, symlinks=True)
        statement = statement_of(folder)
        if statement.is_file():
            shutil.copyfile(statement, whole / statement.name)
        path = build_path(build_key, folder.name)
        return entries.push(place, path, whole, key, scratch=Path(name))


def pull_build(
    build_key: str, target: Path, caches: Caches, *, note: Callable[[str], None]
) -> bool:
    """Make ``target`` a build, from the first cache that has it; tell whether one has.

    Raises:
        EntryRefused: a cache has it, and it cannot be believed.
        CacheError: no cache has it, and one does not answer.
    """
    path = build_path(build_key, target.name)

    def ask(place: Place) -> Transfer | None:
        info = entries.find(place, path, caches.trusted)
        return _fetch(place, info, target, note) if info else None

    transfer = caches.first(ask, note)
    if transfer:
        note(f"{target.name}: from {transfer.address}: {transfer}")
    return transfer is not None


def statement_of(folder: Path) -> Path:
    """Return where the statement about a variant is, if there is one."""
    return folder.with_name(f"{folder.name}{STATEMENT_SUFFIX}")


def _fetch(place: Place, info: NarInfo, target: Path, note: Callable[[str], None]) -> Transfer:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=target.parent) as name:
        whole = Path(name) / "whole"
        transfer = entries.fetch(place, info, whole, note=note)
        if not (whole / target.name / METADATA_NAME).is_file():
            raise EntryRefused(f"this is no build of {target.name}", where=place.address)
        # As a build does: the statement last, which tells of the files.
        statement = statement_of(target)
        statement.unlink(missing_ok=True)
        replace_folder(whole / target.name, target, trash=Path(name) / "old")
        if (whole / statement.name).is_file():
            (whole / statement.name).rename(statement)
    return transfer
