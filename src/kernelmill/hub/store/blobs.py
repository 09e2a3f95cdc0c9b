"""The object store: write-once keys, durable when ``put`` returns."""

from __future__ import annotations

import io
import mmap
import os
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import WriteableBuffer


class FolderBlobs:
    """An object store in a folder of this machine."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = root
        self._store = LocalStore(root)

    def put(self, key: str, source: Path) -> None:
        """Store a file's content under ``key``; it survives a power cut from then on."""
        obstore.put(self._store, key, source)
        self._sync_with_parents(key)

    def create(self, key: str, content: bytes) -> bool:
        """Store ``content`` under a new key, durably; False if something is stored there."""
        try:
            obstore.put(self._store, key, content, mode="create")
        except AlreadyExistsError:
            return False
        self._sync_with_parents(key)
        return True

    def replace(self, key: str, content: bytes) -> None:
        """Store ``content`` under ``key``, durably, in place of what is there."""
        obstore.put(self._store, key, content)
        self._sync_with_parents(key)

    def size(self, key: str) -> int | None:
        """Return how many bytes are stored under ``key``; None for nothing."""
        path = self._root / key
        return path.stat().st_size if path.is_file() else None

    def open(self, key: str) -> memoryview:
        """Return the content under ``key`` without reading it into memory.

        Raises:
            FileNotFoundError: nothing is stored there.
        """
        with (self._root / key).open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def touch(self, key: str) -> None:
        """Make what is stored under ``key`` as young as if it was stored now."""
        (self._root / key).touch()

    def link(self, key: str, target: Path) -> None:
        """Make the content under ``key`` readable at ``target``, which is new.

        Raises:
            FileNotFoundError: nothing is stored there.
        """
        target.symlink_to((self._root / key).resolve(strict=True))

    def delete(self, *keys: str) -> None:
        """Forget ``keys``; those that are missing are no error."""
        for key in keys:
            (self._root / key).unlink(missing_ok=True)

    def list_keys(self, prefix: str, *, older_than_s: float | None = None) -> list[str]:
        """Return every key below the folder ``prefix``, or those written before a Unix time."""
        return [
            meta["path"]
            for page in obstore.list(self._store, prefix)
            for meta in page
            if older_than_s is None or meta["last_modified"].timestamp() < older_than_s
        ]

    def _sync_with_parents(self, key: str) -> None:
        # NOTE: LocalStore syncs nothing: without this a power cut could lose a pack that a
        # committed SQL row names.
        path = self._root / key
        _sync(path)
        while path != self._root:
            path = path.parent
            _sync(path)


class ViewReader(io.RawIOBase):
    """A file to read, over bytes that are not copied as a whole."""

    def __init__(self, view: memoryview) -> None:
        super().__init__()
        self._view = view
        self._position = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Copy the next bytes into ``buffer`` and return how many."""
        target = memoryview(buffer).cast("B")
        piece = self._view[self._position : self._position + len(target)]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
