"""Take in a large file that came as plain bytes: cut it, keep what is new, in xorbs."""

from __future__ import annotations

import hashlib
import mmap
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.store.large import LargeFile
from kernelmill.hub.wire.chunking import chunk_ends
from kernelmill.hub.wire.hashes import chunk_hash, file_hash, merkle_root
from kernelmill.hub.wire.xorbs import MAX_CHUNKS, MAX_RAW_BYTES, XorbIndex, encode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.large import LargeStore, NewXorb

BATCH_CHUNKS: Final = 1024


class Receiver:
    """Write bytes as they come into a temporary file, and learn their sha256."""

    def __init__(self, file: IO[bytes]) -> None:
        self.path = Path(file.name)
        self.size_bytes = 0
        self._file = file
        self._digest = hashlib.sha256()

    def write(self, piece: bytes) -> None:
        """Add bytes."""
        self._digest.update(piece)
        self._file.write(piece)
        self.size_bytes += len(piece)

    def check(self, sha256: str, size_bytes: int) -> None:
        """Make sure that all has arrived, and nothing else.

        Raises:
            InvalidRequest: it has not.
        """
        self.flush()
        if self.size_bytes != size_bytes:
            raise InvalidRequest(f"{self.size_bytes} bytes arrived, {size_bytes} were announced")
        if self.sha256 != sha256:
            raise InvalidRequest(f"the bytes that arrived do not have the sha256 {sha256}")

    @property
    def sha256(self) -> str:
        """The sha256 of what has arrived."""
        return self._digest.hexdigest()

    def flush(self) -> None:
        """Make everything visible under ``path``."""
        self._file.flush()


@contextmanager
def receiver(folder: Path) -> Iterator[Receiver]:
    """Open a receiver whose file goes away at the end."""
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".large") as file:
        yield Receiver(file)


def ingest(hub: Hub, repo_id: str, received: Receiver, sha256: str) -> LargeFile:
    """Store a checked file that a repository was sent, and return it. It is durable then.

    Raises:
        RepoNotFound: the repository was deleted meanwhile.
    """
    known = hub.large.known_sha256(sha256)
    if known is not None:
        hub.large.publish(repo_id, links=[sha256])
        return known
    writer = _Writer(hub.large, hub.scratch)
    try:
        with mapped(received.path) as view:
            nodes = writer.add_all(view)
        ranges = writer.finish()
    except BaseException:
        hub.large.discard(writer.xorbs)
        raise
    size_bytes = sum(size for _, size in nodes)
    file = LargeFile(hash=file_hash(nodes), sha256=sha256, size_bytes=size_bytes)
    hub.large.publish(repo_id, writer.xorbs, [(file, ranges)])
    return file


@contextmanager
def mapped(path: Path) -> Iterator[memoryview]:
    """Open a file's bytes without reading them into memory."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            yield memoryview(b"")
            return
        # Nobody closes the map: views of it may outlive this block; it goes with the last one.
        yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a chunk is: in a xorb's row that was there, or in the n-th new xorb."""

    row: int | None
    new: int
    at: int


class _Writer:
    """Puts chunks that nobody has stored into new xorbs."""

    def __init__(self, store: LargeStore, scratch: Path) -> None:
        self.xorbs: list[NewXorb] = []
        self._store = store
        self._scratch = scratch
        self._places: list[_Place] = []
        self._seen: dict[bytes, _Place] = {}
        self._open: _OpenXorb | None = None

    def add_all(self, view: memoryview) -> list[tuple[bytes, int]]:
        """Cut a file and store it; return (hash, number of bytes) of each chunk."""
        nodes: list[tuple[bytes, int]] = []
        batch: list[tuple[bytes, memoryview]] = []
        for start, end in pairwise(_cuts(view)):
            chunk = view[start:end]
            batch.append((chunk_hash(chunk), chunk))
            nodes.append((batch[-1][0], len(chunk)))
            if len(batch) == BATCH_CHUNKS:
                self._add(batch)
                batch = []
        self._add(batch)
        return nodes

    def finish(self) -> list[tuple[bytes, int, int]]:
        """Store the last xorb, and return the file's ranges."""
        self._close()
        ranges: list[tuple[bytes, int, int]] = []
        for place in self._places:
            name = (
                self.xorbs[place.new].hash
                if place.row is None
                else self._store.xorb(place.row).hash
            )
            if ranges and ranges[-1][0] == name and ranges[-1][2] == place.at:
                ranges[-1] = (name, ranges[-1][1], place.at + 1)
            else:
                ranges.append((name, place.at, place.at + 1))
        return ranges

    def _add(self, batch: Sequence[tuple[bytes, memoryview]]) -> None:
        stored = self._store.find_chunks(raw for raw, _ in batch)
        for raw, chunk in batch:
            place = self._seen.get(raw)
            if place is None and raw in stored:
                row, at = stored[raw]
                place = _Place(row, 0, at)
            if place is None:
                place = self._append(raw, chunk)
            self._seen[raw] = place
            self._places.append(place)

    def _append(self, raw: bytes, chunk: memoryview) -> _Place:
        if self._open is not None and not self._open.has_room(len(chunk)):
            self._close()
        if self._open is None:
            self._open = _OpenXorb(self._scratch)
        return _Place(None, len(self.xorbs), self._open.append(raw, chunk))

    def _close(self) -> None:
        if self._open is not None:
            self.xorbs.append(self._open.store(self._store))
            self._open = None


class _OpenXorb:
    """A xorb in the making, in a temporary file."""

    def __init__(self, scratch: Path) -> None:
        self._file = tempfile.NamedTemporaryFile(dir=scratch, suffix=".xorb")  # noqa: SIM115 - stays open
        self._chunks: list[tuple[bytes, int, int]] = []
        self._raw_bytes = 0
        self._stored_bytes = 0

    def has_room(self, size: int) -> bool:
        """Say whether a chunk still fits."""
        return len(self._chunks) < MAX_CHUNKS and self._raw_bytes + size <= MAX_RAW_BYTES

    def append(self, raw: bytes, chunk: memoryview) -> int:
        """Add a chunk, and return its place."""
        stored = encode(chunk)
        self._file.write(stored)
        self._raw_bytes += len(chunk)
        self._stored_bytes += len(stored)
        self._chunks.append((raw, len(chunk), self._stored_bytes))
        return len(self._chunks) - 1

    def store(self, store: LargeStore) -> NewXorb:
        """Make the xorb durable."""
        with self._file as file:
            file.flush()
            name = merkle_root([(raw, size) for raw, size, _ in self._chunks])
            index = XorbIndex.from_chunks(self._chunks)
            return store.store_xorb(name, index, Path(file.name))


def _cuts(view: memoryview) -> Iterator[int]:
    yield 0
    yield from chunk_ends(view)
