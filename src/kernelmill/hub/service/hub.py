"""A Hub's parts, opened from its data folder."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.hub.errors import DataFolderError, SettingError
from kernelmill.hub.service.nix_cache import orphans
from kernelmill.hub.service.tickets import TicketOffice
from kernelmill.hub.settings import Settings
from kernelmill.hub.store.blobs import FolderBlobs
from kernelmill.hub.store.cache import Cache
from kernelmill.hub.store.database import Database, open_sqlite
from kernelmill.hub.store.large import LargeStore
from kernelmill.hub.store.objects import ObjectStore, pack_key
from kernelmill.hub.store.repos import read_pack_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


log = logging.getLogger(__name__)

DATABASE: Final = "hub.sqlite3"
GARBAGE_AGE_S: Final = 24 * 3600
TOLD_SESSIONS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Everything a request needs. It holds no state but caches of immutable things."""

    settings: Settings
    database: Database
    blobs: FolderBlobs
    objects: ObjectStore
    large: LargeStore
    tickets: TicketOffice
    told: Cache[str, bool]
    """Xet sessions that were told what their repository holds. Forgetting costs a repetition."""

    @property
    def scratch(self) -> Path:
        """The folder for temporary files, on the file system of the data."""
        return self.settings.data / "tmp"

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def open_hub(settings: Settings) -> Hub:
    """Open a data folder, creating it if needed.

    Raises:
        DataFolderError: it cannot be used.
    """
    folder = settings.data
    scratch = folder / "tmp"
    try:
        if is_foreign(folder):
            raise DataFolderError(
                "the folder holds other things, and no Hub",
                where=str(folder),
                hint="choose an empty folder, or one that is not there yet",
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch.mkdir(mode=0o700, exist_ok=True)
        # A read-only folder should be known at the start, not at the first upload.
        with tempfile.TemporaryFile(dir=scratch):
            pass
        blobs = FolderBlobs(folder / "objects")
    except OSError as error:
        raise DataFolderError(
            f"the data folder cannot be used: {error.strerror}",
            where=str(folder),
            hint="choose a folder that you may write to",
        ) from error
    database = open_sqlite(folder / DATABASE)
    objects = ObjectStore(
        database, blobs, scratch=scratch, inline_pack_bytes=settings.inline_pack_bytes
    )
    return Hub(
        settings=settings,
        database=database,
        blobs=blobs,
        objects=objects,
        large=LargeStore(database, blobs),
        tickets=TicketOffice(database.secret("ticket_secret")),
        told=Cache(TOLD_SESSIONS),
    )


def is_foreign(folder: Path) -> bool:
    """Tell whether a folder holds something, yet no Hub, not even a half-made one."""
    if not folder.is_dir() or (folder / DATABASE).exists():
        return False
    return not {each.name for each in folder.iterdir()} <= {"tmp", "objects", "lost+found"}


@contextmanager
def existing_hub(folder: Path) -> Iterator[Hub]:
    """Open a data folder that ``kernel-hub serve`` has made; the Hub may be running meanwhile.

    Raises:
        SettingError: there is none.
    """
    if not (folder / DATABASE).is_file():
        raise SettingError(
            "there is no Hub in this folder",
            where=str(folder),
            hint="start one first: kernel-hub serve --data DIR",
        )
    hub = open_hub(Settings(data=folder))
    try:
        yield hub
    finally:
        hub.close()


def sweep(hub: Hub) -> int:
    """Delete what killed processes left behind a day ago or earlier, and return how many files.

    Younger files may belong to a commit that another process is writing right now.
    """
    horizon = time.time() - GARBAGE_AGE_S
    stale = [path for path in hub.scratch.iterdir() if path.stat().st_mtime < horizon]
    for path in stale:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    old = hub.blobs.list_keys("git", older_than_s=horizon)
    # NOTE: the rows are read after the keys: a pack published in between is not garbage.
    known = {pack_key(repo, name) for repo, name in read_pack_names(hub.database)}
    garbage = [key for key in old if key.rpartition(".")[0] not in known]
    garbage += orphans(hub, older_than_s=horizon)
    xorbs = hub.blobs.list_keys("xorbs", older_than_s=horizon)
    stored = hub.large.keys()
    garbage += [key for key in xorbs if key not in stored]
    garbage += hub.blobs.list_keys("parts", older_than_s=horizon)
    hub.blobs.delete(*garbage)
    if stale or garbage:
        log.info("removed %d files of interrupted writes", len(stale) + len(garbage))
    return len(stale) + len(garbage)
