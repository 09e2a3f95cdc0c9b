"""Pointers: what git stores in the place of a large file.

Source: git-lfs, docs/spec.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

POINTER: Final = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n"
    rb"oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n"
)
MAX_BYTES: Final = 160
SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Pointer:
    """A large file's sha256 and size."""

    sha256: str
    size_bytes: int


def parse_pointer(text: bytes) -> Pointer | None:
    """Return the pointer that a small file is, or None when it is something else."""
    found = POINTER.fullmatch(text)
    return Pointer(found[1].decode(), int(found[2])) if found else None


def render_pointer(pointer: Pointer) -> bytes:
    """Return the content of a pointer file."""
    return (
        "version https://git-lfs.github.com/spec/v1\n"
        f"oid sha256:{pointer.sha256}\nsize {pointer.size_bytes}\n"
    ).encode()
