"""Nix's names for what it stores: hashes in its base 32, and store paths made from hashes.

Source: https://nix.dev/manual/nix/latest/protocols/store-path. Nothing here needs Nix.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from typing import Final

from kernelmill.spec.errors import CacheEntryError

STORE: Final = "/nix/store"
_ALPHABET: Final = "0123456789abcdfghijklmnpqrsvwxyz"
_SHA256_BYTES: Final = 32
_PATH_HASH_BYTES: Final = 20
_PATH: Final = re.compile(rf"{STORE}/(?P<hash>[{_ALPHABET}]{{32}})-(?P<name>[0-9A-Za-z+_?=.-]+)")
_HASH: Final = re.compile(
    rf"sha256:(?P<base16>[0-9a-f]{{64}})|sha256:(?P<base32>[{_ALPHABET}]{{52}})"
    r"|sha256-(?P<base64>[A-Za-z0-9+/]{43}=)"
)
_MAX_NAME: Final = 211


def to_base32(raw: bytes) -> str:
    """Write bytes as Nix does: least significant bits last, without ``e``, ``o``, ``t``, ``u``."""
    number, length = int.from_bytes(raw, "little"), (len(raw) * 8 + 4) // 5
    return "".join(_ALPHABET[number >> 5 * it & 31] for it in reversed(range(length)))


def parse_sha256(text: str, *, where: str) -> str:
    """Read Nix's spelling of a SHA-256 and return its hexadecimal digits.

    Raises:
        CacheEntryError: it is none.
    """
    match = _HASH.fullmatch(text)
    if match is None:
        raise CacheEntryError(f"{text!r} is not a SHA-256 as Nix writes it", where=where)
    if match["base16"]:
        return match["base16"]
    if match["base64"]:
        return b64decode(match["base64"]).hex()
    number = 0
    for digit in match["base32"]:
        number = number << 5 | _ALPHABET.index(digit)
    if number >> 8 * _SHA256_BYTES:
        raise CacheEntryError(f"{text!r} is larger than a SHA-256", where=where)
    return number.to_bytes(_SHA256_BYTES, "little").hex()


def spell_sha256(digits: str) -> str:
    """Return hexadecimal digits as ``sha256:`` and base 32."""
    return f"sha256:{to_base32(bytes.fromhex(digits))}"


def check_store_path(path: str, *, where: str) -> str:
    """Return ``path`` if it is a path directly below Nix's store.

    Raises:
        CacheEntryError: it is not.
    """
    match = _PATH.fullmatch(path)
    if match is None or match["name"].startswith(".") or len(match["name"]) > _MAX_NAME:
        raise CacheEntryError(f"{path!r} is not a path of {STORE}", where=where)
    return path


def path_hash(path: str) -> str:
    """Return the 32 digits of a store path: an entry's name in a cache."""
    return path.removeprefix(f"{STORE}/")[:32]


def path_name(path: str) -> str:
    """Return what follows the digits of a store path."""
    return path.removeprefix(f"{STORE}/")[33:]


def fixed_path(nar_sha256: str, name: str) -> str:
    """Return where Nix keeps a tree of which it knows the hash, as ``nix store add-path`` does."""
    return _make_path("source", nar_sha256, name)


def keyed_path(key: str, name: str) -> str:
    """Return where an entry is kept whose content follows from ``key``.

    Args:
        key: any text; other keys give other paths.
        name: the entry's own name.
    """
    return _make_path("kernelmill", hashlib.sha256(key.encode()).hexdigest(), name)


def _make_path(kind: str, digits: str, name: str) -> str:
    text = f"{kind}:sha256:{digits}:{STORE}:{name}"
    digest, folded = hashlib.sha256(text.encode()).digest(), bytearray(_PATH_HASH_BYTES)
    for position, byte in enumerate(digest):
        folded[position % _PATH_HASH_BYTES] ^= byte
    return check_store_path(f"{STORE}/{to_base32(bytes(folded))}-{name}", where=name)
