"""Large files: xorbs in the object store, and in SQL what files are made of and who has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import and_, bindparam, or_, select

from kernelmill.hub.errors import RepoNotFound
from kernelmill.hub.store.cache import Cache
from kernelmill.hub.store.database import insert_missing, now_ms
from kernelmill.hub.store.repos import new_id
from kernelmill.hub.store.schema import CHUNKS, FILE_LINKS, FILES, REPOS, XORB_LINKS, XORBS
from kernelmill.hub.wire.hashes import hash_text
from kernelmill.hub.wire.xorbs import XorbIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from sqlalchemy import BindParameter, ColumnElement, Connection

    from kernelmill.hub.store.blobs import FolderBlobs
    from kernelmill.hub.store.database import Database

INDEX_BYTES: Final = 64 * 1024 * 1024
BATCH: Final = 500

TERM: Final = np.dtype([("xorb", "<i8"), ("size", "<u4"), ("start", "<u4"), ("end", "<u4")])
"""A range of a file's chunks: the xorb's row, its number of bytes, first chunk, last plus one."""

FILE_COLUMNS: Final = (FILES.c.hash, FILES.c.sha256, FILES.c.size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeFile:
    """A file whose content lies in xorbs."""

    hash: bytes
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Xorb:
    """A stored xorb."""

    id: int
    hash: bytes
    key: str
    index: XorbIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class NewXorb:
    """A xorb that is in the object store, and in no row yet."""

    hash: bytes
    key: str
    index: XorbIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Which repositories an asker may read."""

    namespaces: tuple[str, ...]
    """Those whose private repositories are included."""
    sees_all: bool

    def clause(self) -> ColumnElement[bool]:
        """Return the condition on ``REPOS``."""
        if self.sees_all:
            return REPOS.c.id.is_not(None)
        return or_(REPOS.c.is_private.is_(False), REPOS.c.namespace.in_(self.namespaces))


class LargeStore:
    """All xorbs and large files of a Hub."""

    def __init__(self, database: Database, blobs: FolderBlobs) -> None:
        self._database = database
        self._blobs = blobs
        self._xorbs: Cache[int, Xorb] = Cache(INDEX_BYTES, lambda xorb: 60 * len(xorb.index))

    def store_xorb(self, name: bytes, index: XorbIndex, source: Path) -> NewXorb:
        """Make a xorb durable. Nobody finds it before ``publish``."""
        # The key is new each time, so that whoever removes leftovers cannot meet an upload.
        key = f"xorbs/{hash_text(name)[:2]}/{hash_text(name)}-{new_id()}"
        self._blobs.put(key, source)
        return NewXorb(hash=name, key=key, index=index)

    def publish(
        self,
        repo_id: str,
        xorbs: Sequence[NewXorb] = (),
        files: Sequence[tuple[LargeFile, Sequence[tuple[bytes, int, int]]]] = (),
        links: Iterable[str] = (),
    ) -> bool:
        """Make stored xorbs and files known, and let a repository have them; or nothing of it.

        Args:
            repo_id: the repository.
            xorbs: what ``store_xorb`` returned; a xorb that is known already is dropped.
            files: each with its ranges: (xorb, first chunk, last chunk plus one).
            links: files that are known, by sha256.

        Returns:
            Whether anything was new.

        Raises:
            RepoNotFound: the repository was deleted meanwhile.
        """
        spare: list[str] = []
        is_new = False
        with self._database.writing() as connection:
            if connection.execute(select(REPOS.c.id).where(REPOS.c.id == repo_id)).first() is None:
                raise RepoNotFound("the repository was deleted meanwhile")
            for xorb in xorbs:
                row_id, is_inserted = _insert_xorb(connection, xorb)
                insert_missing(connection, XORB_LINKS, [{"xorb": row_id, "repo": repo_id}])
                is_new |= is_inserted
                spare += [] if is_inserted else [xorb.key]
            for file, ranges in files:
                is_new |= _insert_file(connection, file, ranges)
            sums = [*links, *(file.sha256 for file, _ in files)]
            insert_missing(
                connection, FILE_LINKS, [{"sha256": each, "repo": repo_id} for each in sums]
            )
        self._blobs.delete(*spare)
        return is_new

    def discard(self, xorbs: Iterable[NewXorb]) -> None:
        """Delete stored xorbs that were never published."""
        self._blobs.delete(*(xorb.key for xorb in xorbs))

    def files_of(self, repo_id: str, sums: Iterable[str]) -> dict[str, LargeFile]:
        """Return those of the files, given by sha256, that a repository has."""
        return self._find_files(sums, FILE_LINKS.c.repo == repo_id)

    def files_for(self, audience: Audience, sums: Iterable[str]) -> dict[str, LargeFile]:
        """Return those of the files, given by sha256, that some repository has for an asker."""
        return self._find_files(sums, audience.clause())

    def file_by_hash(self, repo_id: str, name: bytes) -> LargeFile | None:
        """Return a file of a repository."""
        query = (
            select(*FILE_COLUMNS)
            .join(FILE_LINKS, FILE_LINKS.c.sha256 == FILES.c.sha256)
            .where(FILES.c.hash == name, FILE_LINKS.c.repo == repo_id)
        )
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return _file(*row) if row is not None else None

    def known_file(self, name: bytes) -> LargeFile | None:
        """Return a file of whatever repository; nobody may be told of it."""
        query = select(*FILE_COLUMNS)
        with self._database.reading() as connection:
            row = connection.execute(query.where(FILES.c.hash == name)).first()
        return _file(*row) if row is not None else None

    def known_sha256(self, sha256: str) -> LargeFile | None:
        """Return a file of whatever repository; nobody may be told of it."""
        query = select(*FILE_COLUMNS)
        with self._database.reading() as connection:
            row = connection.execute(query.where(FILES.c.sha256 == sha256)).first()
        return _file(*row) if row is not None else None

    def terms(self, name: bytes) -> NDArray[np.void]:
        """Return a file's ranges, ``TERM``."""
        query = select(FILES.c.terms).where(FILES.c.hash == name)
        with self._database.reading() as connection:
            return np.frombuffer(connection.execute(query).scalar_one(), TERM)

    def xorb(self, row_id: int) -> Xorb:
        """Return a xorb by its row."""

        def read() -> Xorb:
            query = select(XORBS.c.id, XORBS.c.hash, XORBS.c.key, XORBS.c.idx)
            with self._database.reading() as connection:
                return _xorb(*connection.execute(query.where(XORBS.c.id == row_id)).one())

        return self._xorbs.get_or_make(row_id, read)

    def open_xorb(self, key: str) -> memoryview:
        """Return a stored xorb without reading it into memory."""
        return self._blobs.open(key)

    def xorbs_for(self, audience: Audience, names: Iterable[bytes]) -> dict[bytes, Xorb]:
        """Return those of the xorbs that an asker may use: uploaded to what the asker may read."""
        query = (
            select(XORBS.c.id)
            .join(XORB_LINKS, XORB_LINKS.c.xorb == XORBS.c.id)
            .join(REPOS, REPOS.c.id == XORB_LINKS.c.repo)
            .where(XORBS.c.hash.in_(bindparam("names", expanding=True)), audience.clause())
            .distinct()
        )
        ids: list[int] = []
        with self._database.reading() as connection:
            for batch in _batches(names):
                ids += connection.execute(query, {"names": batch}).scalars()
        return {xorb.hash: xorb for xorb in map(self.xorb, ids)}

    def newest_xorbs(self, repo_id: str, *, limit: int) -> list[Xorb]:
        """Return the xorbs that were uploaded to a repository last."""
        query = (
            select(XORB_LINKS.c.xorb)
            .where(XORB_LINKS.c.repo == repo_id)
            .order_by(XORB_LINKS.c.xorb.desc())
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [self.xorb(row_id) for row_id in connection.execute(query).scalars().all()]

    def find_chunks(self, hashes: Iterable[bytes]) -> dict[bytes, tuple[int, int]]:
        """Return where chunks are stored: hash -> (row of the xorb, place in it)."""
        wanted: BindParameter[bytes] = bindparam("hashes", expanding=True)
        query = select(CHUNKS.c.hash, CHUNKS.c.xorb, CHUNKS.c.place).where(
            CHUNKS.c.hash.in_(wanted)
        )
        found = {}
        with self._database.reading() as connection:
            for batch in _batches(hashes):
                for row in connection.execute(query, {"hashes": batch}):
                    found[row.hash] = (row.xorb, row.place)
        return found

    def keys(self) -> set[str]:
        """Return the key of every xorb that the object store must have."""
        with self._database.reading() as connection:
            return set(connection.execute(select(XORBS.c.key)).scalars())

    def _find_files(
        self, sums: Iterable[str], condition: ColumnElement[bool]
    ) -> dict[str, LargeFile]:
        query = (
            select(*FILE_COLUMNS)
            .join(FILE_LINKS, FILE_LINKS.c.sha256 == FILES.c.sha256)
            .join(REPOS, and_(REPOS.c.id == FILE_LINKS.c.repo))
            .where(FILES.c.sha256.in_(bindparam("sums", expanding=True)), condition)
            # One content may be known in several cuts: the first counts, always the same one.
            .order_by(FILES.c.created_ms.desc(), FILES.c.hash)
        )
        with self._database.reading() as connection:
            return {
                row.sha256: _file(*row)
                for batch in _batches(sums)
                for row in connection.execute(query, {"sums": batch})
            }


def _insert_xorb(connection: Connection, xorb: NewXorb) -> tuple[int, bool]:
    """Return a xorb's row, and whether it is new."""
    query = select(XORBS.c.id, XORBS.c.key).where(XORBS.c.hash == xorb.hash)
    values: Mapping[str, object] = {
        "hash": xorb.hash,
        "key": xorb.key,
        "size_bytes": xorb.index.stored_bytes,
        "raw_bytes": xorb.index.raw_bytes,
        "idx": xorb.index.to_bytes(),
        "created_ms": now_ms(),
    }
    insert_missing(connection, XORBS, [values])
    row = connection.execute(query).one()
    if row.key != xorb.key:
        return row.id, False
    chunks = [
        {"hash": raw, "xorb": row.id, "place": place}
        for place, (raw, _) in enumerate(xorb.index.nodes())
    ]
    insert_missing(connection, CHUNKS, chunks)
    return row.id, True


def _insert_file(
    connection: Connection, file: LargeFile, ranges: Sequence[tuple[bytes, int, int]]
) -> bool:
    """Insert a file unless it is known; return whether it was new."""
    if connection.execute(select(FILES.c.hash).where(FILES.c.hash == file.hash)).first():
        return False
    indexes: dict[bytes, tuple[int, XorbIndex]] = {}
    query = select(XORBS.c.id, XORBS.c.idx).where(XORBS.c.hash == bindparam("name"))
    rows = []
    for name, start, end in ranges:
        if name not in indexes:
            row = connection.execute(query, {"name": name}).one()
            indexes[name] = row.id, XorbIndex.from_bytes(row.idx)
        row_id, index = indexes[name]
        rows.append((row_id, index.size(start, end), start, end))
    values: Mapping[str, object] = {
        "hash": file.hash,
        "sha256": file.sha256,
        "size_bytes": file.size_bytes,
        "terms": np.array(rows, TERM).tobytes(),
        "created_ms": now_ms(),
    }
    insert_missing(connection, FILES, [values])
    return True


def _file(name: bytes, sha256: str, size_bytes: int) -> LargeFile:
    return LargeFile(hash=name, sha256=sha256, size_bytes=size_bytes)


def _xorb(row_id: int, name: bytes, key: str, index: bytes) -> Xorb:
    return Xorb(id=row_id, hash=name, key=key, index=XorbIndex.from_bytes(index))


def _batches(values: Iterable[object]) -> Iterable[list[object]]:
    items = list(dict.fromkeys(values))
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
