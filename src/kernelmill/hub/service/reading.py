"""Read a revision: its tree, single entries, and its history."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.hub.errors import EntryNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelmill.hub.service.access import Revision
    from kernelmill.hub.store.large import LargeFile
    from kernelmill.hub.store.objects import ObjectReader, TreeEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or folder of a revision."""

    path: str
    id: str
    is_folder: bool
    size_bytes: int
    """Of the file's own content, also where git stores a pointer."""
    pointer_bytes: int = 0
    large: LargeFile | None = None
    """What the large file store knows of the file, if it is one of those."""


def list_tree(revision: Revision, path: str, *, is_recursive: bool) -> Iterator[Entry]:
    """Yield what is in a folder, in git's order; folders before their content.

    Raises:
        EntryNotFound: there is no such folder.
    """
    tree = revision.root
    if path:
        found = find_entry(revision, path)
        if not found.is_folder:
            raise EntryNotFound(f"{path!r} is not a folder", commit=revision.commit)
        tree = found.id
    prefix = f"{path}/" if path else ""
    return _walk(revision.objects, tree, prefix, is_recursive=is_recursive)


def find_entry(revision: Revision, path: str) -> Entry:
    """Return one file or folder.

    Raises:
        EntryNotFound: there is none.
    """
    line = _look_up(revision.objects, revision.root, path)
    if line is None:
        raise EntryNotFound(f"{path!r} does not exist at {revision.commit}", commit=revision.commit)
    return _to_entry(revision.objects, path, line)


def history(objects: ObjectReader, tip: str) -> Iterator[str]:
    """Yield the commits that lead to ``tip``, newest first, each once."""
    queue = [(-objects.commit(tip).commit_time, 0, tip)]
    seen = {tip}
    while queue:
        _, _, current = heapq.heappop(queue)
        yield current
        for parent in (raw.decode() for raw in objects.commit(current).parents):
            if parent not in seen:
                seen.add(parent)
                # Commits of one second keep the order in which they were met.
                time = objects.commit(parent).commit_time
                heapq.heappush(queue, (-time, len(seen), parent))


def last_commits(revision: Revision, paths: Iterable[str]) -> dict[str, str]:
    """Return, for each path, the commit that last changed it (along first parents)."""
    objects = revision.objects
    open_paths = set(paths)
    last: dict[str, str] = {}
    current: str | None = revision.commit
    while current is not None and open_paths:
        commit = objects.commit(current)
        parent = commit.parents[0].decode() if commit.parents else None
        tree = commit.tree.decode()
        old_tree = objects.commit(parent).tree.decode() if parent else None
        if tree != old_tree:
            for path in sorted(open_paths):
                old = _look_up(objects, old_tree, path) if old_tree else None
                if old != _look_up(objects, tree, path):
                    last[path] = current
                    open_paths.discard(path)
        current = parent
    return last


def _walk(objects: ObjectReader, tree: str, prefix: str, *, is_recursive: bool) -> Iterator[Entry]:
    for line in objects.tree(tree).values():
        path = prefix + line.name
        yield _to_entry(objects, path, line)
        if line.is_folder and is_recursive:
            yield from _walk(objects, line.id, f"{path}/", is_recursive=True)


def _look_up(objects: ObjectReader, tree: str, path: str) -> TreeEntry | None:
    *parents, name = path.split("/")
    for parent in parents:
        folder = objects.tree(tree).get(parent)
        if folder is None or not folder.is_folder:
            return None
        tree = folder.id
    return objects.tree(tree).get(name)


def _to_entry(objects: ObjectReader, path: str, line: TreeEntry) -> Entry:
    size_bytes = 0 if line.is_folder else objects.size(line.id)
    return Entry(path=path, id=line.id, is_folder=line.is_folder, size_bytes=size_bytes)
