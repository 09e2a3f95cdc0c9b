"""Large files in a folder and SQLite: what is stored once, who is told, what is swept."""

from __future__ import annotations

import hashlib
import os
import random
import time
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from tests.unit.hub.test_store import make_repo

from kernelmill.hub.errors import BadTicket, RepoNotFound
from kernelmill.hub.service.hub import open_hub, sweep
from kernelmill.hub.service.ingest import ingest, receiver
from kernelmill.hub.service.large import stream_file
from kernelmill.hub.service.tickets import TicketOffice
from kernelmill.hub.service.xet import XetSession, answer_dedup_query
from kernelmill.hub.settings import Settings
from kernelmill.hub.store.large import Audience
from kernelmill.hub.store.repos import delete_repo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.large import LargeFile

NOISE = random.Random(0).randbytes(700_000)
NOBODY = Audience(namespaces=(), sees_all=False)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = open_hub(Settings(data=tmp_path / "data"))
    yield opened
    opened.close()


def put(hub: Hub, repo_id: str, data: bytes) -> LargeFile:
    with receiver(hub.scratch) as received:
        received.write(data)
        sha256 = hashlib.sha256(data).hexdigest()
        received.check(sha256, len(data))
        return ingest(hub, repo_id, received, sha256)


def content(hub: Hub, file: LargeFile, start: int, stop: int) -> bytes:
    return b"".join(stream_file(hub.large, file, range(start, stop)))


def stored(hub: Hub) -> list[str]:
    return hub.blobs.list_keys("xorbs")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"x", id="one-byte"),
        pytest.param(NOISE, id="noise"),
        pytest.param(bytes(1_000_000), id="one-chunk-many-times"),
    ],
)
def test_file_comes_back_in_whole_and_in_part(hub: Hub, data: bytes) -> None:
    repo, _ = make_repo(hub)
    file = put(hub, repo.id, data)
    assert content(hub, file, 0, len(data)) == data
    dice = random.Random(1)
    for _ in range(20 if data else 0):
        start = dice.randrange(len(data))
        stop = dice.randrange(start, len(data)) + 1
        assert content(hub, file, start, stop) == data[start:stop]


def test_equal_chunks_are_stored_once(hub: Hub) -> None:
    repo, _ = make_repo(hub)
    put(hub, repo.id, NOISE)
    assert len(stored(hub)) == 1
    put(hub, repo.id, NOISE)
    assert len(stored(hub)) == 1
    changed = put(hub, repo.id, b"head" + NOISE)
    sizes = [(hub.settings.data / "objects" / key).stat().st_size for key in stored(hub)]
    assert sum(sizes) < len(NOISE) + 200_000
    assert content(hub, changed, 0, len(NOISE) + 4) == b"head" + NOISE


def test_file_is_told_of_only_where_it_was_sent(hub: Hub) -> None:
    repo, _ = make_repo(hub)
    file = put(hub, repo.id, NOISE)
    assert hub.large.files_of(repo.id, [file.sha256]) == {file.sha256: file}
    assert hub.large.files_of("another", [file.sha256]) == {}
    assert hub.large.files_for(NOBODY, [file.sha256]) == {file.sha256: file}  # it is public
    [xorb] = hub.large.newest_xorbs(repo.id, limit=8)
    assert set(hub.large.xorbs_for(NOBODY, [xorb.hash])) == {xorb.hash}
    delete_repo(hub.database, repo)
    assert hub.large.files_for(NOBODY, [file.sha256]) == {}
    assert hub.large.xorbs_for(NOBODY, [xorb.hash]) == {}
    with pytest.raises(RepoNotFound, match="deleted meanwhile"):
        put(hub, repo.id, NOISE[:1000])


def test_dedup_query_names_what_the_repository_holds_once_in_a_session(hub: Hub) -> None:
    repo, _ = make_repo(hub)
    builds = [put(hub, repo.id, NOISE[: 600_000 + 9000 * number]) for number in range(12)]
    names = [xorb.hash for xorb in hub.large.newest_xorbs(repo.id, limit=100)]
    assert len(names) == len(builds)
    session = XetSession(repo=repo, bearer=None, id="one")
    told = answer_dedup_query(hub, session, bytes(32))
    assert told is not None
    assert all(name in told for name in names)
    assert answer_dedup_query(hub, session, bytes(32)) is None
    known = hub.large.newest_xorbs(repo.id, limit=100)[-1].index.hash_at(0)
    again = answer_dedup_query(hub, session, known)
    assert again is not None
    assert [name in again for name in names] == [False] * 11 + [True]
    other = answer_dedup_query(hub, XetSession(repo=repo, bearer=None, id="two"), bytes(32))
    assert other == told  # clients keep replies by their bytes


def test_sweep_removes_what_no_row_names_after_a_day(hub: Hub, tmp_path: Path) -> None:
    repo, _ = make_repo(hub)
    file = put(hub, repo.id, NOISE)
    source = tmp_path / "leftover"
    source.write_bytes(b"leftover")
    young, old = "xorbs/00/young", "xorbs/00/old"
    for key in (young, old, "parts/upload/1"):
        hub.blobs.put(key, source)
    yesterday = time.time() - 25 * 3600
    for key in (*stored(hub), "parts/upload/1"):
        if key != young:
            os.utime(hub.settings.data / "objects" / key, (yesterday, yesterday))
    left = hub.scratch / "git-left"
    (left / "refs").mkdir(parents=True)
    os.utime(left, (yesterday, yesterday))
    assert sweep(hub) == 3
    assert not left.exists()
    assert old not in stored(hub)
    assert young in stored(hub)
    assert content(hub, file, 0, len(NOISE)) == NOISE


def test_database_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    first = open_hub(settings)
    repo, _ = make_repo(first)
    with first.database.writing() as connection:
        for table in ("xorb_links", "file_links", "files", "chunks", "xorbs"):
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("UPDATE meta SET value = '1' WHERE key = 'schema_version'"))
    first.close()
    again = open_hub(settings)
    file = put(again, repo.id, NOISE)
    assert content(again, file, 0, 10) == NOISE[:10]
    secret = again.database.secret("ticket_secret")
    again.close()
    third = open_hub(settings)
    assert third.database.secret("ticket_secret") == secret
    third.close()


def test_ticket_is_good_for_its_kind_and_time_only() -> None:
    now = [1000.0]
    office = TicketOffice(bytes(32), clock=lambda: now[0])
    ticket = office.issue("xorb", expires_s=office.expiry(60), start=5, repo="r")
    assert office.read(ticket, "lfs-get", "xorb").number("start") == 5
    with pytest.raises(BadTicket, match="for something else"):
        office.read(ticket, "lfs-get")
    with pytest.raises(BadTicket, match="no ticket of this Hub"):
        TicketOffice(b"x" * 32).read(ticket, "xorb")
    for forged in (ticket[:-2] + "AA", "", "ä", ticket + "A" * 7):
        with pytest.raises(BadTicket, match="no ticket of this Hub"):
            office.read(forged, "xorb")
    now[0] = 1061.0
    with pytest.raises(BadTicket, match="time is over"):
        office.read(ticket, "xorb")
