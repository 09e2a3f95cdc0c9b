"""``<hash>.narinfo``: one entry of a Nix binary cache, and what its signatures cover.

A line per key, ``Key: value``. A signature covers the path, the hash and the size of its archive,
and what it refers to; not where the archive is, nor how it is compressed.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from kernelmill.spec.errors import CacheEntryError
from kernelmill.spec.nix_store import STORE, check_store_path, parse_sha256, spell_sha256
from kernelmill.spec.values import dataclass

MAX_BYTES: Final = 64 * 1024
MAX_SIGNATURES: Final = 16
INFO_NAME: Final = "nix-cache-info"
CACHE_INFO: Final = f"StoreDir: {STORE}\nWantMassQuery: 1\nPriority: 40\n"

Compression = Literal["none", "zstd", "xz", "gzip", "bzip2"]
SUFFIXES: Final[dict[Compression, str]] = {
    "none": "",
    "zstd": ".zst",
    "xz": ".xz",
    "gzip": ".gz",
    "bzip2": ".bz2",
}
NAR_FILE: Final = re.compile(
    r"(?P<hash>[0-9abcdfghijklmnpqrsvwxyz]{52})\.nar(?P<suffix>|\.zst|\.xz|\.gz|\.bz2)"
)
PATH_HASH: Final = re.compile(r"[0-9abcdfghijklmnpqrsvwxyz]{32}")
_SIGNATURE: Final = re.compile(r"(?P<key>[^\s:]+):(?P<value>[A-Za-z0-9+/]{86}==)")
_CA: Final = re.compile(r"(?:fixed|text):[a-z0-9:]+")
_NUMBER: Final = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NarInfo:
    """One entry of a cache."""

    store_path: str
    url: str
    """Of the archive, relative to the cache: ``nar/<file hash>.nar.zst``."""
    compression: Compression
    file_sha256: str
    """Of the archive as it lies there, in hexadecimal digits."""
    file_bytes: int
    nar_sha256: str
    nar_bytes: int
    references: tuple[str, ...] = ()
    """Names of paths in the store, without the store, sorted."""
    deriver: str = ""
    content_address: str = ""
    """``fixed:r:sha256:...`` where the path itself follows from the content."""
    signatures: tuple[str, ...] = ()
    """``key name:base64``."""

    @property
    def fingerprint(self) -> bytes:
        """What a signature covers."""
        references = ",".join(f"{STORE}/{it}" for it in self.references)
        hashed = spell_sha256(self.nar_sha256)
        return f"1;{self.store_path};{hashed};{self.nar_bytes};{references}".encode()


def parse(content: str, *, where: str) -> NarInfo:
    """Read an entry. Keys that are not known are left out.

    Raises:
        CacheEntryError: it is none; says what is missing or wrong.
    """
    if len(content) > MAX_BYTES:
        raise CacheEntryError(f"larger than {MAX_BYTES} bytes", where=where)
    values = _values(content, where)
    compression = values.get("Compression", "bzip2")  # what Nix takes it for
    if compression not in SUFFIXES:
        raise CacheEntryError(
            f"compression {compression!r} is not one of {', '.join(SUFFIXES)}", where=where
        )
    references = tuple(sorted(_need(values, "References", where, default="").split()))
    for it in references:
        check_store_path(f"{STORE}/{it}", where=where)
    address = values.get("CA", "")
    if address and not _CA.fullmatch(address):
        raise CacheEntryError(f"CA {address!r} is not a content address", where=where)
    return NarInfo(
        store_path=check_store_path(_need(values, "StorePath", where), where=where),
        url=_url(_need(values, "URL", where), compression, where),
        compression=compression,
        file_sha256=parse_sha256(_need(values, "FileHash", where), where=where),
        file_bytes=_number(values, "FileSize", where),
        nar_sha256=parse_sha256(_need(values, "NarHash", where), where=where),
        nar_bytes=_number(values, "NarSize", where),
        references=references,
        deriver=values.get("Deriver", ""),
        content_address=address,
        signatures=_signatures(content, where),
    )


def dumps(info: NarInfo) -> str:
    """Write an entry, in the order in which Nix does."""
    lines = [
        f"StorePath: {info.store_path}",
        f"URL: {info.url}",
        f"Compression: {info.compression}",
        f"FileHash: {spell_sha256(info.file_sha256)}",
        f"FileSize: {info.file_bytes}",
        f"NarHash: {spell_sha256(info.nar_sha256)}",
        f"NarSize: {info.nar_bytes}",
        f"References: {' '.join(info.references)}",
        *([f"Deriver: {info.deriver}"] if info.deriver else ()),
        *(f"Sig: {it}" for it in info.signatures),
        *([f"CA: {info.content_address}"] if info.content_address else ()),
    ]
    return "\n".join(lines) + "\n"


def nar_url(file_sha256: str, compression: Compression) -> str:
    """Return where an archive is put: its name is the hash of its bytes."""
    digits = spell_sha256(file_sha256).removeprefix("sha256:")
    return f"nar/{digits}.nar{SUFFIXES[compression]}"


def _values(content: str, where: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in content.splitlines():
        key, colon, value = line.partition(":")
        if not colon or (value and not value.startswith(" ")):
            raise CacheEntryError(f"{line[:80]!r} is not a line of a narinfo", where=where)
        if key in values and key != "Sig":
            raise CacheEntryError(f"{key} is there twice", where=where)
        values[key] = value.strip()
    return values


def _need(values: dict[str, str], key: str, where: str, *, default: str | None = None) -> str:
    found = values.get(key, default)
    if found is None:
        raise CacheEntryError(f"{key} is missing", where=where)
    return found


def _number(values: dict[str, str], key: str, where: str) -> int:
    text = _need(values, key, where)
    if not _NUMBER.fullmatch(text):
        raise CacheEntryError(f"{key} {text!r} is not a number of bytes", where=where)
    return int(text)


def _url(url: str, compression: Compression, where: str) -> str:
    folder, _, file = url.partition("/")
    match = NAR_FILE.fullmatch(file)
    if folder != "nar" or match is None or match["suffix"] != SUFFIXES[compression]:
        raise CacheEntryError(
            f"URL {url!r} is not nar/<hash>.nar{SUFFIXES[compression]}", where=where
        )
    return url


def _signatures(content: str, where: str) -> tuple[str, ...]:
    lines = [it for it in content.splitlines() if it.startswith("Sig:")]
    found = [it.removeprefix("Sig:").strip() for it in lines]
    if len(found) > MAX_SIGNATURES:
        raise CacheEntryError(f"more than {MAX_SIGNATURES} signatures", where=where)
    for it in found:
        if not _SIGNATURE.fullmatch(it):
            raise CacheEntryError(f"{it[:80]!r} is not a signature", where=where)
    return tuple(dict.fromkeys(found))
