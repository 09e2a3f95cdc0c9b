"""What an operator may choose, with the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

MIB: Final = 1024 * 1024
GIB: Final = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One Hub's settings."""

    data: Path
    """The folder that holds everything the Hub keeps."""
    max_upload_bytes: int = 2 * GIB
    """Largest body of one commit request, where files travel as base64 (4/3 of their size), and of
    one archive of a binary cache."""
    max_nar_bytes: int = 16 * GIB
    """Largest tree of a binary cache's entry, unpacked: more than any compiler's."""
    max_json_bytes: int = 16 * MIB
    """Largest body of any other request."""
    max_operations: int = 100_000
    """Most files one commit may add or delete."""
    inline_pack_bytes: int = 256 * 1024
    """Packs up to this size are kept in SQL: no request to the object store for small commits."""
    spool_memory_bytes: int = 1 * MIB
    """A request body up to this size stays in memory; a larger one goes to disk."""
    page_entries: int = 1000
    """Tree entries in one reply."""
    page_entries_expanded: int = 50
    """Tree entries in one reply when each carries its last commit."""
    commit_threads: int = 4
    """Commits written at once; reads have threads of their own."""
    max_file_bytes: int = 64 * GIB
    """Largest file of the large file store."""
    max_shard_bytes: int = 64 * MIB
    """Largest description of what uploaded files are made of."""
    lfs_part_bytes: int = 32 * MIB
    """LFS uploads of clients that offer it come in parts of this size."""
    ticket_s: int = 3600
    """How long a signed address or a Xet token is good."""
