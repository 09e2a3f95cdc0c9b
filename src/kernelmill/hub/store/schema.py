"""The SQL tables. A change here needs a new ``SCHEMA_VERSION``."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

SCHEMA_VERSION: Final = 2
ADDS_TABLES_ONLY: Final = frozenset({"1"})
"""Earlier versions whose tables are ours, some missing."""

METADATA: Final = MetaData()

META: Final = Table(
    "meta",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("value", String(256), nullable=False),
)

# Users and organisations share one table because they share one space of names.
ACCOUNTS: Final = Table(
    "accounts",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("key", String(96), nullable=False, unique=True),  # the name, lower case
    Column("name", String(96), nullable=False),
    Column("kind", String(8), nullable=False),  # "user" or "org"
    Column("is_admin", Boolean, nullable=False, default=False),
    Column("is_trusted", Boolean, nullable=False, default=False),
    Column("created_ms", BigInteger, nullable=False),
)

MEMBERS: Final = Table(
    "members",
    METADATA,
    Column("org", Integer, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("user", Integer, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("role", String(8), nullable=False),  # "read", "write" or "admin"
)

TOKENS: Final = Table(
    "tokens",
    METADATA,
    Column("digest", String(64), primary_key=True),  # sha256 of the token, hex
    Column("user", Integer, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("role", String(8), nullable=False),  # "read", "write" or "admin"
    Column("label", String(96), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

REPOS: Final = Table(
    "repos",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("kind", String(8), nullable=False),  # "model" or "kernel"
    Column("key", String(200), nullable=False),  # "namespace/name", lower case
    Column("namespace", String(96), nullable=False),
    Column("name", String(96), nullable=False),
    Column("is_private", Boolean, nullable=False),
    Column("gen", BigInteger, nullable=False),  # grows with every write; orders packs.seq
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    UniqueConstraint("kind", "key"),
)

REFS: Final = Table(
    "refs",
    METADATA,
    Column("repo", String(32), ForeignKey("repos.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(512), primary_key=True),  # "refs/heads/main"
    Column("value", String(40), nullable=False),
)

PACKS: Final = Table(
    "packs",
    METADATA,
    Column("repo", String(32), ForeignKey("repos.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),  # repos.gen of the write that brought it
    Column("name", String(80), nullable=False),  # "<upload id>-<pack checksum>"
    Column("size_bytes", BigInteger, nullable=False),
    Column("objects", Integer, nullable=False),
    Column("data", LargeBinary, nullable=True),  # NULL: in the object store
    Column("idx", LargeBinary, nullable=True),
)

# Large files. Xorbs hold their chunks; files are ranges of chunks. Who may use what stands in the
# two tables of links: nothing is shared between repositories by knowing a hash alone.
XORBS: Final = Table(
    "xorbs",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("key", String(120), nullable=False),  # in the object store; never used again
    Column("size_bytes", BigInteger, nullable=False),
    Column("raw_bytes", BigInteger, nullable=False),
    Column("idx", LargeBinary, nullable=False),  # wire.xorbs.CHUNK_RECORD of each chunk
    Column("created_ms", BigInteger, nullable=False),
    sqlite_autoincrement=True,  # what processes remember by an id must not become another xorb
)

CHUNKS: Final = Table(
    "chunks",
    METADATA,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("xorb", Integer, ForeignKey("xorbs.id", ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),
    sqlite_with_rowid=False,
)

FILES: Final = Table(
    "files",
    METADATA,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("sha256", String(64), nullable=False, index=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("terms", LargeBinary, nullable=False),  # store.large.TERM of each range
    Column("created_ms", BigInteger, nullable=False),
)

FILE_LINKS: Final = Table(  # the repositories that a file was uploaded to, or committed to
    "file_links",
    METADATA,
    Column("sha256", String(64), primary_key=True),
    Column("repo", String(32), ForeignKey("repos.id", ondelete="CASCADE"), primary_key=True),
)

XORB_LINKS: Final = Table(  # the repositories that the whole xorb was uploaded to
    "xorb_links",
    METADATA,
    Column("xorb", Integer, ForeignKey("xorbs.id", ondelete="CASCADE"), primary_key=True),
    Column("repo", String(32), ForeignKey("repos.id", ondelete="CASCADE"), primary_key=True),
    Index("xorb_links_of_repo", "repo", "xorb"),
)
