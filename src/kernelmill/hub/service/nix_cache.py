"""Binary caches: archives named by their hash, and entries that describe and sign them.

Clients sign; the Hub has no key, and checks that an entry is what it says it is. Both are written
once: a path that has an entry can get more signatures, and never other content.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kernelmill.binary.compression import decompressed
from kernelmill.binary.errors import BinaryError
from kernelmill.hub import auth
from kernelmill.hub.errors import AccountNotFound, Conflict, EntryNotFound, InvalidRequest
from kernelmill.hub.store.accounts import find_account
from kernelmill.hub.store.blobs import ViewReader
from kernelmill.spec import narinfo
from kernelmill.spec.errors import CacheEntryError
from kernelmill.spec.nix_store import fixed_path, path_hash, path_name, spell_sha256

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.spec.narinfo import NarInfo

PUBLIC: Final = "public"
PRIVATE: Final = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class NixCache:
    """One of the two caches of an account."""

    hub: Hub
    owner: str
    shelf: str
    """``public`` or ``private``."""

    def key(self, name: str) -> str:
        """Return where the object store keeps a file of this cache."""
        return f"nix/{self.owner.lower()}/{self.shelf}/{name}"

    def find(self, name: str) -> memoryview:
        """Return a file of this cache.

        Raises:
            EntryNotFound: it has none of that name.
        """
        try:
            return self.hub.blobs.open(self.key(name))
        except FileNotFoundError as error:
            raise EntryNotFound(f"this cache has no {name!r}") from error


def open_cache(hub: Hub, bearer: Bearer | None, owner: str, shelf: str) -> NixCache:
    """Return a cache that the asker may read.

    Raises:
        AccountNotFound: nobody has that name, or the asker may not see its private cache.
    """
    account = find_account(hub.database, owner)
    is_open = shelf == PUBLIC or auth.can_read_private(bearer, owner)
    if account is None or not is_open:
        raise AccountNotFound(f"no cache of {owner!r} here, or a token is needed to see it")
    return NixCache(hub=hub, owner=account.name, shelf=shelf)


def open_cache_for_writing(hub: Hub, bearer: Bearer | None, owner: str, shelf: str) -> NixCache:
    """Return a cache that the asker may write to.

    Raises:
        NotSignedIn: there is no token.
        Forbidden: the asker may not write there.
        AccountNotFound: nobody has that name.
    """
    auth.check_write(bearer, owner)
    return open_cache(hub, bearer, owner, shelf)


def put_archive(cache: NixCache, file: str, source: Path, sha256: str) -> None:
    """Keep an archive.

    Args:
        cache: where.
        file: its name, which is its hash.
        source: the bytes; the file is not kept.
        sha256: of them.

    Raises:
        InvalidRequest: they are not those that the name says.
    """
    digits = spell_sha256(sha256).removeprefix("sha256:")
    if file.partition(".")[0] != digits:
        raise InvalidRequest(f"the body's sha256 is {digits}, and not the one in the name {file!r}")
    key = cache.key(f"nar/{file}")
    if cache.hub.blobs.size(key) is None:
        cache.hub.blobs.put(key, source)
    else:
        cache.hub.blobs.touch(key)  # an entry may be on its way


def put_entry(cache: NixCache, digits: str, content: str) -> None:
    """Keep an entry, if it is true of an archive that is here already.

    Raises:
        InvalidRequest: it is malformed, unsigned, or not true.
        Conflict: the path has other content here.
    """
    where = f"{digits}.narinfo"
    try:
        info = narinfo.parse(content, where=where)
    except CacheEntryError as error:
        raise InvalidRequest(str(error)) from error
    if path_hash(info.store_path) != digits:
        raise InvalidRequest(f"{where} describes another path, {info.store_path}")
    _check_vouched(info)
    while True:
        known = _known(cache, where)
        if known is not None:
            _add_signatures(cache, where, known, info)
            return
        _check_archive(cache, info)
        if cache.hub.blobs.create(cache.key(where), narinfo.dumps(info).encode()):
            return


def _known(cache: NixCache, where: str) -> NarInfo | None:
    try:
        content = cache.find(where)
    except EntryNotFound:
        return None
    return narinfo.parse(bytes(content).decode(), where=where)


def _add_signatures(cache: NixCache, where: str, known: NarInfo, new: NarInfo) -> None:
    if known.fingerprint != new.fingerprint:
        raise Conflict(
            f"{known.store_path} is here with other content: NAR sha256 {known.nar_sha256},"
            f" and not {new.nar_sha256}"
        )
    signatures = tuple(dict.fromkeys((*known.signatures, *new.signatures)))
    if len(signatures) > narinfo.MAX_SIGNATURES:
        raise InvalidRequest(f"{where} would have more than {narinfo.MAX_SIGNATURES} signatures")
    if signatures != known.signatures:
        merged = replace(known, signatures=signatures)
        cache.hub.blobs.replace(cache.key(where), narinfo.dumps(merged).encode())


def _check_vouched(info: NarInfo) -> None:
    """Refuse what no client would take: neither signed nor proven by its own name."""
    address = info.content_address
    is_fixed = address.startswith("fixed:r:sha256:")
    if is_fixed and (
        address != f"fixed:r:{spell_sha256(info.nar_sha256)}"
        or info.store_path != fixed_path(info.nar_sha256, path_name(info.store_path))
    ):
        raise InvalidRequest(f"{info.store_path} is not the path of content {address!r}")
    if not is_fixed and not info.signatures:
        raise InvalidRequest(f"the entry of {info.store_path} is not signed: push it with a key")


def _check_archive(cache: NixCache, info: NarInfo) -> None:
    if info.nar_bytes > cache.hub.settings.max_nar_bytes:
        raise InvalidRequest(f"NarSize {info.nar_bytes} is over this Hub's limit")
    try:
        packed = cache.find(info.url)
    except EntryNotFound as error:
        raise InvalidRequest(f"{info.url} is not here: send it before its narinfo") from error
    named = spell_sha256(info.file_sha256).removeprefix("sha256:")
    if len(packed) != info.file_bytes or not info.url.startswith(f"nar/{named}."):
        raise InvalidRequest(f"FileHash and FileSize are not those of {info.url}")
    digest, size = hashlib.sha256(), 0
    file = io.BufferedReader(ViewReader(packed))
    try:
        for piece in decompressed(file, info.compression, where=info.url):
            size += len(piece)
            if size > info.nar_bytes:
                break
            digest.update(piece)
    except BinaryError as error:
        raise InvalidRequest(str(error)) from error
    if size != info.nar_bytes or digest.hexdigest() != info.nar_sha256:
        raise InvalidRequest(f"NarHash and NarSize are not those of {info.url}, unpacked")


def orphans(hub: Hub, *, older_than_s: float) -> list[str]:
    """Return the keys of archives that no entry names: what interrupted uploads leave behind."""
    old = [it for it in hub.blobs.list_keys("nix", older_than_s=older_than_s) if "/nar/" in it]
    if not old:
        return []
    # NOTE: entries are read after the archives: what is named meanwhile is no orphan.
    entries = [it for it in hub.blobs.list_keys("nix") if it.endswith(".narinfo")]
    named = set()
    for key in entries:
        info = narinfo.parse(bytes(hub.blobs.open(key)).decode(), where=key)
        named.add(f"{key.rpartition('/')[0]}/{info.url}")
    return [it for it in old if it not in named]
