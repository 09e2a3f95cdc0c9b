"""Small values that the whole store speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

RepoKind = Literal["model", "kernel"]
Role = Literal["read", "write", "admin"]

MAIN: Final = "refs/heads/main"
HEADS: Final = "refs/heads/"
TAGS: Final = "refs/tags/"

FILE_MODE: Final = 0o100644
FOLDER_MODE: Final = 0o040000


class ObjectKind(IntEnum):
    """Git's object types, numbered as in packs."""

    COMMIT = 1
    TREE = 2
    BLOB = 3
    TAG = 4

    @property
    def label(self) -> bytes:
        """The name that stands in the hashed header."""
        return self.name.lower().encode()


class Content(Protocol):
    """Bytes that need not be held in memory; their number is known before they are read."""

    @property
    def size_bytes(self) -> int:
        """How many bytes ``chunks`` yields."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes in order."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """Content that is already in memory."""

    data: bytes

    @property
    def size_bytes(self) -> int:
        """The number of bytes."""
        return len(self.data)

    def chunks(self) -> Iterator[bytes]:
        """Yield all of it at once."""
        yield self.data
