"""Entries of a cache: an archive, and a narinfo that says what it is and who vouches for it."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from http.client import HTTPException
from typing import TYPE_CHECKING, Final

from kernelmill.binary.compression import decompressed, writing_zstd
from kernelmill.binary.errors import BinaryError
from kernelmill.builder.cache.unpacking import unpack_nar
from kernelmill.builder.errors import CacheError, EntryRefused
from kernelmill.builder.sdk.nar import write_nar
from kernelmill.spec import narinfo
from kernelmill.spec.errors import CacheEntryError
from kernelmill.spec.narinfo import NarInfo
from kernelmill.spec.nix_store import fixed_path, path_hash, path_name, spell_sha256
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from kernelmill.builder.cache.keys import SecretKey, TrustedKey
    from kernelmill.builder.cache.places import Place

MB: Final = 1_000_000
_NEWS_S: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What went over the wire."""

    name: str
    address: str
    packed_bytes: int
    unpacked_bytes: int
    seconds: float
    is_new: bool = True

    def __str__(self) -> str:
        sizes = f"{self.packed_bytes / MB:.1f} MB, {self.unpacked_bytes / MB:.1f} MB unpacked"
        return f"{sizes}, in {self.seconds:.1f} s"


def entry_name(store_path: str) -> str:
    """Return the name of an entry's file."""
    return f"{path_hash(store_path)}.narinfo"


def find(place: Place, store_path: str, trusted: Sequence[TrustedKey]) -> NarInfo | None:
    """Return an entry that somebody trusted vouches for; None if there is none.

    Raises:
        EntryRefused: there is one, and nobody trusted vouches for it.
        CacheError: the cache does not answer.
    """
    content = place.read(entry_name(store_path))
    if content is None:
        return None
    where = f"{place.address}/{entry_name(store_path)}"
    try:
        info = narinfo.parse(content.decode("utf-8", "replace"), where=where)
    except CacheEntryError as error:
        raise EntryRefused(error.problem, where=error.where) from error
    if info.store_path != store_path:
        raise EntryRefused(f"this is an entry of {info.store_path}", where=where)
    if problem := objection_to(info, trusted):
        raise EntryRefused(f"{path_name(store_path)}: {problem}", where=where)
    return info


def objection_to(info: NarInfo, trusted: Sequence[TrustedKey]) -> str:
    """Return why an entry is not to be believed, or nothing."""
    if info.store_path == fixed_path(info.nar_sha256, path_name(info.store_path)):
        return ""  # whoever asked for this path asked for this very content
    if not info.signatures:
        return "is not signed"
    names = {it.name for it in trusted}
    signers = [it.partition(":")[0] for it in info.signatures]
    if not names.intersection(signers):
        return f"is signed by {', '.join(signers)}, whom nobody trusts here"
    is_valid = any(
        key.verifies(info.fingerprint, signature)
        for key in trusted
        for signature in info.signatures
    )
    return "" if is_valid else f"the signature of {', '.join(signers)} does not fit the entry"


def fetch(place: Place, info: NarInfo, target: Path, *, note: Callable[[str], None]) -> Transfer:
    """Unpack an entry's archive and compare it with the entry.

    Args:
        place: where it is.
        info: the entry, as ``find`` returns it.
        target: a path that does not exist. On an error, what is there is to be thrown away.
        note: told now and then how far it is.

    Raises:
        EntryRefused: the archive is not the one that the entry describes.
        CacheError: the cache does not answer.
    """
    started = time.monotonic()
    file = place.open(info.url)
    where = f"{place.address}/{info.url}"
    if file is None:
        raise CacheError("the entry's archive is missing", where=where)
    digest = hashlib.sha256()
    with file:
        try:
            pieces = decompressed(file, info.compression, where=where)
            watched = _watched(pieces, digest.update, info, where)
            unpack_nar(_told(watched, info, note), target, where=where)
        except BinaryError as error:
            raise EntryRefused(error.problem, where=where) from error
        except (OSError, HTTPException) as error:
            raise CacheError(f"cannot be fetched: {error}", where=where) from error
    if digest.hexdigest() != info.nar_sha256:
        raise EntryRefused(
            f"the archive's NAR sha256 is {digest.hexdigest()}, want {info.nar_sha256}", where=where
        )
    return Transfer(
        name=path_name(info.store_path),
        address=place.address,
        packed_bytes=info.file_bytes,
        unpacked_bytes=info.nar_bytes,
        seconds=time.monotonic() - started,
    )


def _watched(
    pieces: Iterator[bytes], see: Callable[[bytes], object], info: NarInfo, where: str
) -> Iterator[bytes]:
    """Yield what passes, and no more of it than the entry says."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > info.nar_bytes:
            raise EntryRefused(f"the archive has more than {info.nar_bytes} bytes", where=where)
        see(piece)
        yield piece


def _told(pieces: Iterator[bytes], info: NarInfo, note: Callable[[str], None]) -> Iterator[bytes]:
    """Yield what passes, and tell every few seconds how much that was."""
    size, last = 0, time.monotonic()
    for piece in pieces:
        size += len(piece)
        if time.monotonic() - last > _NEWS_S:
            last = time.monotonic()
            of = f"{size / MB:.0f} of {info.nar_bytes / MB:.0f} MB"
            note(f"{path_name(info.store_path)}: {of} unpacked")
        yield piece


def push(
    place: Place, store_path: str, source: Path, key: SecretKey, *, scratch: Path,
    references: tuple[str, ...] = (),
) -> Transfer:  # fmt: skip
    """Pack a file or folder, sign it, and send it; the archive goes first.

    Args:
        place: where to.
        store_path: the entry's.
        source: what is packed.
        key: who vouches for it.
        scratch: a folder for the archive.
        references: names of paths that belong to this one.

    Raises:
        CacheError: the cache does not take it.
    """
    started = time.monotonic()
    packed = scratch / "archive"
    info = _pack(source, store_path, packed)
    info = replace(info, references=references)
    info = replace(info, signatures=(key.sign(info.fingerprint),))
    if not place.has(info.url):
        place.write(info.url, packed)
    entry = scratch / "entry"
    entry.write_text(narinfo.dumps(info), encoding="utf-8", newline="\n")
    place.write(entry_name(store_path), entry)
    return Transfer(
        name=path_name(store_path),
        address=place.address,
        packed_bytes=info.file_bytes,
        unpacked_bytes=info.nar_bytes,
        seconds=time.monotonic() - started,
    )


def _pack(source: Path, store_path: str, packed: Path) -> NarInfo:
    digest, size = hashlib.sha256(), 0

    with packed.open("wb") as file, writing_zstd(file) as stream:

        def write(piece: bytes) -> None:
            nonlocal size
            size += len(piece)
            digest.update(piece)
            stream.write(piece)

        write_nar(source, write)
    nar_sha256 = digest.hexdigest()
    file_sha256 = _sha256(packed)
    is_fixed = store_path == fixed_path(nar_sha256, path_name(store_path))
    return NarInfo(
        store_path=store_path,
        url=narinfo.nar_url(file_sha256, "zstd"),
        compression="zstd",
        file_sha256=file_sha256,
        file_bytes=packed.stat().st_size,
        nar_sha256=nar_sha256,
        nar_bytes=size,
        content_address=f"fixed:r:{spell_sha256(nar_sha256)}" if is_fixed else "",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_file(place: Place, info: NarInfo, scratch: Path, *, note: Callable[[str], None]) -> bytes:
    """Return the content of an entry that is one small file.

    Raises:
        EntryRefused: it is not.
    """
    target = scratch / "file"
    target.unlink(missing_ok=True)
    if info.nar_bytes > narinfo.MAX_BYTES:
        raise EntryRefused(f"{info.nar_bytes} bytes is too large", where=place.address)
    fetch(place, info, target, note=note)
    if target.is_symlink() or not target.is_file():
        raise EntryRefused("not a file", where=f"{place.address}/{info.url}")
    return target.read_bytes()
