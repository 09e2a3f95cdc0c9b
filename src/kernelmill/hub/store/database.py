"""One SQL database: connections, transactions, and the schema's version."""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy import URL, create_engine, event, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from kernelmill.hub.errors import DataFolderError
from kernelmill.hub.store.schema import ADDS_TABLES_ONLY, META, METADATA, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Table
    from sqlalchemy.engine.interfaces import DBAPIConnection

BUSY_TIMEOUT_S: Final = 30

PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    # NOTE: NORMAL would let a power cut take back commits that clients were told of.
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
)


def now_ms() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


class Database:
    """A Hub's database. Every transaction is short; none spans a request to the object store."""

    def __init__(self, url: URL) -> None:
        self._engine = create_engine(
            url,
            pool_size=16,
            max_overflow=64,
            connect_args={"timeout": BUSY_TIMEOUT_S} if url.get_backend_name() == "sqlite" else {},
        )
        if url.get_backend_name() == "sqlite":
            event.listen(self._engine, "connect", _prepare_sqlite)
            event.listen(self._engine, "begin", _begin_sqlite)
        self._writer = self._engine.execution_options(is_write=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection to read with; each statement sees what was committed before it."""
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that writes; it waits for other writers rather than failing."""
        with self._writer.begin() as connection:
            yield connection

    def ensure_schema(self, *, where: str) -> None:
        """Create the tables if there are none.

        Raises:
            DataFolderError: another version of this program wrote the database.
        """
        with self.writing() as connection:
            META.create(connection, checkfirst=True)
            query = select(META.c.value).where(META.c.key == "schema_version")
            found = connection.execute(query).scalar()
            if found is None:
                METADATA.create_all(connection)
                values = {"key": "schema_version", "value": str(SCHEMA_VERSION)}
                connection.execute(insert(META).values(**values))
            elif found in ADDS_TABLES_ONLY:
                METADATA.create_all(connection)
                bump = META.update().where(META.c.key == "schema_version")
                connection.execute(bump.values(value=str(SCHEMA_VERSION)))
            elif found != str(SCHEMA_VERSION):
                raise DataFolderError(
                    f"the database has schema version {found}, this program reads {SCHEMA_VERSION}",
                    where=where,
                    hint="use the kernelmill version that wrote it, or another data folder",
                )

    def secret(self, name: str) -> bytes:
        """Return 32 random bytes that every process on this database shares, made at first use."""
        query = select(META.c.value).where(META.c.key == name)
        with self.reading() as connection:
            found = connection.execute(query).scalar()
        if found is None:
            with self.writing() as connection:
                insert_missing(connection, META, [{"key": name, "value": secrets.token_hex(32)}])
                found = connection.execute(query).scalar_one()
        return bytes.fromhex(found)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


def insert_missing(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """Insert rows; those whose key is taken stay as they are."""
    if rows:
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        connection.execute(dialect.insert(table).on_conflict_do_nothing(), list(rows))


def open_sqlite(path: Path) -> Database:
    """Open the database file at ``path``, creating it if needed.

    Raises:
        DataFolderError: it cannot be opened, or another version wrote it.
    """
    database = Database(URL.create("sqlite", database=str(path)))
    try:
        database.ensure_schema(where=str(path))
    except DBAPIError as error:
        database.close()
        raise DataFolderError(
            f"the database cannot be opened: {error.orig}",
            where=str(path),
            hint="check the file's permissions and that it is a kernel-hub database",
        ) from error
    except DataFolderError:
        database.close()
        raise
    return database


def _prepare_sqlite(connection: DBAPIConnection, _record: object) -> None:
    # The driver's own idea of transactions would start writes as reads, which then cannot wait
    # for another writer: we send BEGIN ourselves.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    if connection.get_execution_options().get("is_write", False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
