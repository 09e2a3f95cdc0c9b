"""Look at caches without fetching from them: which answer, and what they have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelmill.builder.cache import entries
from kernelmill.builder.errors import CacheError, EntryRefused
from kernelmill.spec.narinfo import INFO_NAME
from kernelmill.spec.nix_store import STORE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.cache.places import Place
    from kernelmill.builder.cache.settings import Caches


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one cache said."""

    address: str
    problem: str = ""
    entries: Mapping[str, str] = field(default_factory=dict)
    """Name -> what there is of it."""


def survey(caches: Caches, wanted: Mapping[str, str]) -> tuple[Seen, ...]:
    """Ask every cache for every name; ``wanted`` maps names to paths of the store."""
    return tuple(_ask(place, caches, wanted) for place in caches.places)


def _ask(place: Place, caches: Caches, wanted: Mapping[str, str]) -> Seen:
    try:
        about = place.read(INFO_NAME)
        if about is None or f"StoreDir: {STORE}".encode() not in about.splitlines():
            return Seen(address=place.address, problem="there is no cache here")
        found = {name: _state(place, path, caches) for name, path in wanted.items()}
    except CacheError as error:
        return Seen(address=place.address, problem=error.problem)
    return Seen(address=place.address, entries=found)


def _state(place: Place, path: str, caches: Caches) -> str:
    try:
        info = entries.find(place, path, caches.trusted)
    except EntryRefused as error:
        return f"refused: {error.problem}"
    if info is None:
        return "not here"
    return f"signed by {', '.join(it.partition(':')[0] for it in info.signatures)}"
