"""The object store: write-once keys, durable when ``put`` returns."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

import obstore
from obstore.store import LocalStore

if TYPE_CHECKING:
    from pathlib import Path


class FolderBlobs:
    """An object store in a folder of this machine."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = root
        self._store = LocalStore(root)

    def put(self, key: str, source: Path) -> None:
        """Store a file's content under ``key``; it survives a power cut from then on."""
        obstore.put(self._store, key, source)
        # NOTE: LocalStore syncs nothing: without this a power cut could lose a pack that a
        # committed SQL row names.
        path = self._root / key
        _sync(path)
        while path != self._root:
            path = path.parent
            _sync(path)

    def open(self, key: str) -> memoryview:
        """Return the content under ``key`` without reading it into memory.

        Raises:
            FileNotFoundError: nothing is stored there.
        """
        with (self._root / key).open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
