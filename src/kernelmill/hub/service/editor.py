"""Change files of a git tree, and write only the trees that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.hub.errors import EntryNotFound, InvalidRequest
from kernelmill.hub.store.names import FILE_MODE, FOLDER_MODE, ObjectKind
from kernelmill.hub.store.objects import TreeEntry, tree_content

if TYPE_CHECKING:
    from kernelmill.hub.store.objects import ObjectReader
    from kernelmill.hub.store.packs import PackWriter

MISSING_FILE: Final = "A file with this name doesn't exist"


class _Folder:
    """A folder whose entries were loaded, to be changed."""

    def __init__(self, entries: dict[str, TreeEntry | _Folder]) -> None:
        self.entries = entries


class TreeEditor:
    """Edits of one tree, applied in order."""

    def __init__(self, objects: ObjectReader, root: str) -> None:
        self._objects = objects
        self._root = self._load(root)

    def put_file(self, path: str, blob: str) -> None:
        """Set a file's content.

        Raises:
            InvalidRequest: a folder is in its place, or a file in the place of a folder above it.
        """
        *parents, name = path.split("/")
        folder = self._root
        for depth, parent in enumerate(parents, start=1):
            entry = self._open(folder, parent)
            if entry is None:
                entry = folder.entries[parent] = _Folder({})
            if not isinstance(entry, _Folder):
                above = "/".join(parents[:depth])
                raise InvalidRequest(f"cannot write {path!r}: {above!r} is a file")
            folder = entry
        old = folder.entries.get(name)
        if isinstance(old, _Folder) or (old is not None and old.is_folder):
            raise InvalidRequest(f"cannot write {path!r}: it is a folder")
        mode = old.mode if old is not None else FILE_MODE
        folder.entries[name] = TreeEntry(name, mode, blob)

    def delete_file(self, path: str) -> None:
        """Remove a file.

        Raises:
            EntryNotFound: there is none.
        """
        if not self._delete(path, is_folder=False):
            raise EntryNotFound(f"{MISSING_FILE}: {path!r}")

    def delete_folder(self, path: str) -> None:
        """Remove a folder with all that is in it.

        Raises:
            EntryNotFound: there is none.
        """
        if not self._delete(path, is_folder=True):
            raise EntryNotFound(f"A folder with this name doesn't exist: {path!r}")

    def write(self, pack: PackWriter) -> str:
        """Write the changed trees and return the root's id."""
        return self._write(self._root, pack)

    def _write(self, folder: _Folder, pack: PackWriter) -> str:
        lines = (
            entry
            if isinstance(entry, TreeEntry)
            else TreeEntry(name, FOLDER_MODE, self._write(entry, pack))
            for name, entry in folder.entries.items()
        )
        return pack.add(ObjectKind.TREE, tree_content(lines))

    def _delete(self, path: str, *, is_folder: bool) -> bool:
        *parents, name = path.split("/")
        folders = [self._root]
        for parent in parents:
            entry = self._open(folders[-1], parent)
            if not isinstance(entry, _Folder):
                return False
            folders.append(entry)
        found = folders[-1].entries.get(name)
        if found is None or is_folder != (isinstance(found, _Folder) or found.is_folder):
            return False
        del folders[-1].entries[name]
        # Git knows no empty folders, so neither do the edits that follow.
        for folder, parent in zip(reversed(folders[:-1]), reversed(parents), strict=True):
            child = folder.entries[parent]
            if isinstance(child, _Folder) and not child.entries:
                del folder.entries[parent]
        return True

    def _open(self, folder: _Folder, name: str) -> TreeEntry | _Folder | None:
        entry = folder.entries.get(name)
        if isinstance(entry, TreeEntry) and entry.is_folder:
            entry = folder.entries[name] = self._load(entry.id)
        return entry

    def _load(self, tree: str) -> _Folder:
        return _Folder(dict(self._objects.tree(tree)))
