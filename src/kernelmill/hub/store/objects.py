"""Read and write a repository's git objects."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import Commit, ObjectID, Tag, parse_tree, serialize_tree

from kernelmill.hub.store.cache import Cache
from kernelmill.hub.store.names import FOLDER_MODE, InMemory, ObjectKind
from kernelmill.hub.store.packs import OpenPack, PackWriter
from kernelmill.hub.store.repos import NewPack, ensure_exists, new_id, read_packs
from kernelmill.hub.wire.pointers import MAX_BYTES as POINTER_BYTES
from kernelmill.hub.wire.pointers import parse_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kernelmill.hub.store.blobs import FolderBlobs
    from kernelmill.hub.store.database import Database
    from kernelmill.hub.wire.pointers import Pointer

VIEW_BYTES: Final = 256 * 1024 * 1024
TREE_ENTRIES: Final = 500_000
COMMITS: Final = 50_000
POINTERS: Final = 200_000


class TreeEntry(NamedTuple):
    """One line of a git tree."""

    name: str
    mode: int
    id: str

    @property
    def is_folder(self) -> bool:
        """Whether the entry is a tree."""
        return self.mode == FOLDER_MODE


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A repository's packs at one generation, newest first. Immutable, so it never goes stale."""

    gen: int
    """Every pack up to this generation is in the view."""
    last_seq: int
    """The newest pack's place in the order of packs."""
    packs: tuple[OpenPack, ...]

    @property
    def memory_bytes(self) -> int:
        """Roughly what keeping this view costs."""
        return sum(pack.memory_bytes for pack in self.packs)

    def find(self, raw: bytes) -> OpenPack | None:
        """Return the pack that holds an object."""
        return next((pack for pack in self.packs if raw in pack), None)


class Parsed:
    """Objects of all repositories that were read before, by their ids."""

    def __init__(self) -> None:
        self.trees: Cache[str, Mapping[str, TreeEntry]] = Cache(TREE_ENTRIES, len)
        self.commits: Cache[str, Commit] = Cache(COMMITS)
        self.pointers: Cache[str, list[Pointer]] = Cache(POINTERS)


class ObjectStore:
    """Git objects of all repositories. Everything it remembers is immutable."""

    def __init__(
        self, database: Database, blobs: FolderBlobs, *, scratch: Path, inline_pack_bytes: int
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._scratch = scratch
        self._inline_pack_bytes = inline_pack_bytes
        self._views: Cache[str, View] = Cache(VIEW_BYTES, lambda view: view.memory_bytes)
        self._parsed = Parsed()

    def reader(self, repo_id: str, gen: int) -> ObjectReader:
        """Return a reader that sees at least generation ``gen`` of a repository."""
        return ObjectReader(self, repo_id, self.view(repo_id, gen), self._parsed)

    def view(self, repo_id: str, gen: int) -> View:
        """Return the repository's packs, no older than ``gen``."""
        view = self._views.get(repo_id)
        return view if view is not None and view.gen >= gen else self.refresh(repo_id, gen)

    def refresh(self, repo_id: str, gen: int = 0) -> View:
        """Return the repository's packs as SQL lists them now; ``gen`` was read before."""
        view = self._views.get(repo_id) or View(gen=0, last_seq=0, packs=())
        rows = read_packs(self._database, repo_id, after=view.last_seq)
        try:
            fresh = [self._open(repo_id, row.name, row.data, row.index) for row in reversed(rows)]
        except FileNotFoundError:
            ensure_exists(self._database, repo_id)
            raise
        last_seq = rows[-1].seq if rows else view.last_seq
        return self._views.put(
            repo_id,
            View(
                gen=max(view.gen, last_seq, gen),
                last_seq=last_seq,
                packs=(*fresh, *view.packs),
            ),
        )

    def ensure_exists(self, repo_id: str) -> None:
        """Stop here, with ``RepoNotFound``, when the repository was deleted meanwhile."""
        ensure_exists(self._database, repo_id)

    def _open(self, repo_id: str, name: str, data: bytes | None, index: bytes | None) -> OpenPack:
        if data is not None and index is not None:
            return OpenPack(name, data, index)
        key = pack_key(repo_id, name)
        return OpenPack(name, self._blobs.open(f"{key}.pack"), self._blobs.open(f"{key}.idx"))

    @contextmanager
    def pack_writer(self, reader: ObjectReader | None) -> Iterator[PackWriter]:
        """Open a pack for new objects in a temporary file, which goes away at the end."""
        with tempfile.NamedTemporaryFile(dir=self._scratch, suffix=".pack") as file:
            yield PackWriter(
                file, Path(file.name), is_known=reader.has if reader else lambda _: False
            )

    def store_pack(self, repo_id: str, writer: PackWriter) -> NewPack:
        """Make a written pack durable, and return what to publish. Nobody sees it before that."""
        written = writer.finish()
        name = f"{new_id()}-{written.checksum}"
        is_inline = written.size_bytes <= self._inline_pack_bytes
        if not is_inline:
            key = pack_key(repo_id, name)
            self._blobs.put(f"{key}.pack", writer.path)
            with tempfile.NamedTemporaryFile(dir=self._scratch, suffix=".idx") as index:
                index.write(written.index)
                index.flush()
                self._blobs.put(f"{key}.idx", Path(index.name))
        return NewPack(
            name=name,
            size_bytes=written.size_bytes,
            objects=written.objects,
            data=writer.path.read_bytes() if is_inline else None,
            index=written.index if is_inline else None,
        )

    def discard_pack(self, repo_id: str, pack: NewPack) -> None:
        """Delete a stored pack that was never published."""
        if pack.data is None:
            key = pack_key(repo_id, pack.name)
            self._blobs.delete(f"{key}.idx", f"{key}.pack")

    def delete_repo(self, repo_id: str) -> None:
        """Delete every object of a repository that SQL has forgotten."""
        self._blobs.delete(*self._blobs.list_keys(f"git/{repo_id}"))


def pack_key(repo_id: str, name: str) -> str:
    """Return where the object store keeps a pack, without the suffix."""
    return f"git/{repo_id}/{name}"


class ObjectReader:
    """One repository's objects, as one request sees them."""

    def __init__(
        self,
        store: ObjectStore,
        repo_id: str,
        view: View,
        parsed: Parsed,
    ) -> None:
        self._store = store
        self._repo_id = repo_id
        self._view = view
        self._parsed = parsed

    def has(self, object_id: str) -> bool:
        """Say whether the view that this reader started with holds an object."""
        return self._view.find(bytes.fromhex(object_id)) is not None

    def kind(self, object_id: str) -> ObjectKind:
        """Return an object's type."""
        return self._pack(object_id).header(bytes.fromhex(object_id))[0]

    def size(self, object_id: str) -> int:
        """Return an object's size in bytes without reading it."""
        return self._pack(object_id).header(bytes.fromhex(object_id))[1]

    def stream(self, object_id: str) -> Iterator[bytes]:
        """Yield an object's content in pieces."""
        return self._pack(object_id).stream(bytes.fromhex(object_id))

    def commit(self, object_id: str) -> Commit:
        """Return a commit."""
        return self._parsed.commits.get_or_make(
            object_id, lambda: Commit.from_string(self._read(object_id))
        )

    def tree(self, object_id: str) -> Mapping[str, TreeEntry]:
        """Return a tree's entries by name, in git's order."""
        return self._parsed.trees.get_or_make(
            object_id, lambda: parse_entries(self._read(object_id))
        )

    def peel(self, object_id: str) -> str:
        """Follow annotated tags to what they stand for."""
        while self.kind(object_id) is ObjectKind.TAG:
            object_id = Tag.from_string(self._read(object_id)).object[1].decode()
        return object_id

    def pointer(self, object_id: str) -> Pointer | None:
        """Return the pointer to a large file that a blob is, or None."""
        if self.size(object_id) > POINTER_BYTES:
            return None
        # Most small files are none: what was found is remembered in a list of one or nothing.
        found = self._parsed.pointers.get(object_id)
        if found is None:
            found = [p for p in [parse_pointer(self._read(object_id))] if p is not None]
            self._parsed.pointers.put(object_id, found)
        return found[0] if found else None

    def commits_starting(self, prefix: str) -> list[str]:
        """Return the ids of commits that start with ``prefix`` (lower-case hex)."""
        found = {
            raw.hex()
            for pack in self._view.packs
            for raw in pack.raw_ids
            if raw.hex().startswith(prefix)
        }
        return sorted(i for i in found if self.kind(i) is ObjectKind.COMMIT)

    def _read(self, object_id: str) -> bytes:
        return self._pack(object_id).read(bytes.fromhex(object_id))

    def _pack(self, object_id: str) -> OpenPack:
        raw = bytes.fromhex(object_id)
        pack = self._view.find(raw)
        if pack is None:
            # A reference may have been read after the packs: look once more, then give up.
            self._view = self._store.refresh(self._repo_id)
            pack = self._view.find(raw)
        if pack is None:
            self._store.ensure_exists(self._repo_id)
            raise MissingObject(object_id)
        return pack


class MissingObject(KeyError):
    """The repository has no such object."""


def parse_entries(text: bytes) -> dict[str, TreeEntry]:
    """Read a git tree: name -> entry, in git's order."""
    entries = (
        TreeEntry(name.decode("utf-8", "surrogateescape"), mode, object_id.decode())
        for name, mode, object_id in parse_tree(text, 20)
    )
    return {entry.name: entry for entry in entries}


def tree_content(entries: Iterable[TreeEntry]) -> InMemory:
    """Write a git tree. Git sorts folders as if their names ended in a slash."""
    rows = sorted(
        (e.name.encode("utf-8", "surrogateescape") + (b"/" if e.is_folder else b""), e)
        for e in entries
    )
    items = ((key.removesuffix(b"/"), e.mode, ObjectID(e.id.encode())) for key, e in rows)
    return InMemory(b"".join(serialize_tree(items)))
