"""SDKs in a cache: the tree under the path that Nix gives it, and its description by name.

The description is signed and holds the hash of the tree, so the tree needs no trust of its own. It
is there under the SDK's name, ``torch-2.12.0+cu130``, and without the flavour, ``torch-2.12.0``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.cache import entries
from kernelmill.builder.errors import CacheError, EntryRefused
from kernelmill.builder.sdk import format as sdk_format
from kernelmill.builder.sdk.pins import known_inputs
from kernelmill.builder.sdk.store import RECORD_NAME, is_within, version_key
from kernelmill.spec.nix_store import STORE, fixed_path, keyed_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.builder.cache.entries import Transfer
    from kernelmill.builder.cache.keys import SecretKey
    from kernelmill.builder.cache.places import Place
    from kernelmill.builder.cache.settings import Caches
    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.builder.sdk.store import Sdk, Store


def record_path(name: str, platform: str) -> str:
    """Return where the description of an SDK is."""
    return keyed_path(f"sdk:{platform}:{name}", f"{name}.json")


def tree_path(record: SdkRecord) -> str:
    """Return where the tree of an SDK is: in caches, and in Nix's store."""
    return fixed_path(record.nar_sha256, record.name)


def push_sdk(
    sdk: Sdk, place: Place, key: SecretKey, *, store: Store, note: Callable[[str], None]
) -> Transfer:
    """Send an SDK to a cache.

    Raises:
        EntryRefused: its files are not those that it was made of.
        CacheError: the cache refuses it, or has another SDK under its name.
    """
    if problem := store.verify(sdk):
        raise EntryRefused(
            problem, where=str(sdk.folder), hint="remove the SDK's folder and fetch it again"
        )
    path = tree_path(sdk.record)
    with store.scratch() as scratch:
        sent = entries.push(place, path, sdk.tree, key, scratch=scratch)
        names = dict.fromkeys((sdk.record.name, sdk.record.name.partition("+")[0]))
        for name in names:
            try:
                entries.push(
                    place,
                    record_path(name, sdk.record.platform),
                    sdk.folder / RECORD_NAME,
                    key,
                    scratch=scratch,
                    references=(path.removeprefix(f"{STORE}/"),),
                )
            except CacheError as error:
                if name == sdk.record.name:
                    raise
                note(f"{name} means another SDK there, so this one has its full name only: {error}")
    return sent


def pull_sdk(
    kind: str,
    version: str,
    caches: Caches,
    store: Store,
    *,
    platform: str,
    note: Callable[[str], None],
) -> Sdk | None:
    """Fetch an SDK into the store from the first cache that has it; None if none does.

    Raises:
        EntryRefused: a cache has it, and it cannot be believed.
        CacheError: no cache has it, and one does not answer.
    """

    def ask(place: Place) -> Sdk | None:
        found = _describe(kind, version, place, caches, store=store, platform=platform, note=note)
        if found is None:
            return None
        sdk = _fetch(found, place, caches, store, note=note)
        if sdk is None:
            raise CacheError(f"the tree of {found.name} is missing", where=place.address)
        return sdk

    return caches.first(ask, note)


def pull_locked(
    record: SdkRecord, caches: Caches, store: Store, *, note: Callable[[str], None]
) -> Sdk | None:
    """Fetch an SDK that is known by its hash, so that nobody has to vouch for it.

    Raises: as ``pull_sdk``.
    """
    return caches.first(lambda place: _fetch(record, place, caches, store, note=note), note)


def names_of(kind: str, version: str) -> tuple[str, ...]:
    """Return under which names a cache may have an SDK: ``2.12`` is the known release of 2.12."""
    known = [it for it in known_inputs().get(kind, {}) if is_within(it, version) and "+" not in it]
    exact = [max(known, key=version_key)] if known else []
    return tuple(f"{kind}-{it}" for it in dict.fromkeys((*exact, version)))


def _describe(
    kind: str,
    version: str,
    place: Place,
    caches: Caches,
    *,
    store: Store,
    platform: str,
    note: Callable[[str], None],
) -> SdkRecord | None:
    for name in names_of(kind, version):
        info = entries.find(place, record_path(name, platform), caches.trusted)
        if info is None:
            continue
        where = f"{place.address} {name}"
        with store.scratch() as scratch:
            content = entries.read_file(place, info, scratch, note=note)
        record = sdk_format.parse(content.decode("utf-8", "replace"), where=where)
        is_asked = record.kind == kind and is_within(record.version, version)
        if not is_asked or record.platform != platform:
            raise EntryRefused(f"this is {record.name} for {record.platform}", where=where)
        return record
    return None


def _fetch(
    record: SdkRecord,
    place: Place,
    caches: Caches,
    store: Store,
    *,
    note: Callable[[str], None],
) -> Sdk | None:
    info = entries.find(place, tree_path(record), caches.trusted)
    if info is None:
        return None
    with store.scratch() as scratch:
        tree = scratch / "made"
        transfer = entries.fetch(place, info, tree, note=note)
        sdk = store.install(record, tree)
    note(f"{record.name}: from {place.address}: {transfer}")
    return sdk
