"""Xet for clients: tokens, which chunks make up a file, and which chunks they need not send."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.hub import auth
from kernelmill.hub.errors import BadTicket, BadXetToken, InvalidRequest, LargeFileNotFound
from kernelmill.hub.service.ingest import mapped
from kernelmill.hub.service.large import Span, audience, spans_of
from kernelmill.hub.store.accounts import find_bearer_by_digest
from kernelmill.hub.store.repos import find_repo_by_id, new_id
from kernelmill.hub.wire.hashes import hash_text
from kernelmill.hub.wire.shards import render_dedup_shard
from kernelmill.hub.wire.xorbs import read_xorb

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.tickets import Ticket
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.large import LargeFile, Xorb
    from kernelmill.hub.store.repos import Repo

Mode = Literal["read", "write"]

KNOWN_XORBS: Final = 256
KNOWN_CHUNKS: Final = 16_384
"""The first reply to a dedup query names the newest xorbs, up to so many chunks: about 1 GiB."""
DAY_S: Final = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class XetSession:
    """Whom a valid Xet token speaks for, and where."""

    repo: Repo
    bearer: Bearer | None
    id: str
    """Different for each token, so that nobody is told the same twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """A range of a stored xorb: its chunks and its bytes."""

    xorb: Xorb
    start: int
    end: int
    place: range


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """How to make a part of a file from chunks."""

    skip: int
    """How many bytes of the first range do not belong to the part."""
    spans: tuple[Span, ...]
    fetches: tuple[Fetch, ...]


def issue_token(hub: Hub, repo: Repo, bearer: Bearer | None, mode: Mode) -> tuple[str, int]:
    """Return a token for one repository, and the Unix time until which it is good."""
    expires_s = hub.tickets.expiry(hub.settings.ticket_s)
    digest = bearer.digest if bearer is not None else ""
    token = hub.tickets.issue(
        f"xet-{mode}", expires_s=expires_s, repo=repo.id, bearer=digest, id=new_id()
    )
    return token, expires_s


def open_session(hub: Hub, header: str | None, mode: Mode) -> XetSession:
    """Return whom an ``Authorization`` header with a Xet token speaks for, as things are now.

    Raises:
        BadXetToken: there is none, it is for something else, or its time is over.
        Forbidden: its owner may no longer do this.
        RepoNotFound: the repository is gone, or hidden from its owner by now.
    """
    scheme, _, text = (header or "").partition(" ")
    kinds = ["xet-write"] if mode == "write" else ["xet-read", "xet-write"]
    try:
        ticket = hub.tickets.read(text.strip() if scheme.lower() == "bearer" else "", *kinds)
    except BadTicket as error:
        raise BadXetToken(f"a Xet token to {mode} is needed: {error.problem}") from error
    return session_of(hub, ticket, mode)


def session_of(hub: Hub, ticket: Ticket, mode: Mode) -> XetSession:
    """Return whom a ticket speaks for, as things are now.

    Raises:
        BadXetToken: the token with which the ticket was got is gone.
        Forbidden: its owner may no longer do this.
        RepoNotFound: the repository is gone, or hidden from its owner by now.
    """
    digest = ticket.text("bearer")
    bearer = find_bearer_by_digest(hub.database, digest) if digest else None
    if digest and bearer is None:
        raise BadXetToken("the token behind this one is gone")
    repo = find_repo_by_id(hub.database, ticket.text("repo"))
    repo = auth.check_read(bearer, repo, "of this token")
    if mode == "write":
        auth.check_write(bearer, repo.namespace)
    return XetSession(repo=repo, bearer=bearer, id=str(ticket.claims.get("id", "")))


def add_xorb(hub: Hub, session: XetSession, name: bytes, source: Path) -> bool:
    """Check a xorb in a file and store it, without its footer; return whether it was new.

    Raises:
        InvalidRequest: it is malformed, or hashes to another name.
    """
    with mapped(source) as view:
        actual, index = read_xorb(view)
    if actual != name:
        raise InvalidRequest(f"the xorb hashes to {hash_text(actual)}, not to {hash_text(name)}")
    os.truncate(source, index.stored_bytes)
    stored = hub.large.store_xorb(name, index, source)
    return hub.large.publish(session.repo.id, [stored])


def find_file(hub: Hub, session: XetSession, name: bytes) -> LargeFile:
    """Return a file of the token's repository.

    Raises:
        LargeFileNotFound: it has none of that hash.
    """
    file = hub.large.file_by_hash(session.repo.id, name)
    if file is None:
        raise LargeFileNotFound(f"{session.repo.full_name!r} has no file {hash_text(name)}")
    return file


def reconstruct(hub: Hub, file: LargeFile, wanted: range) -> Reconstruction:
    """Say how to make the bytes ``wanted`` of a file."""
    if not wanted:
        return Reconstruction(skip=0, spans=(), fetches=())
    skip, spans = spans_of(hub.large, file.hash, wanted)
    fetches = []
    for row_id, group in groupby(sorted(spans, key=lambda s: (s.xorb, s.start)), lambda s: s.xorb):
        xorb = hub.large.xorb(row_id)
        for start, end in _merge([(span.start, span.end) for span in group]):
            place = xorb.index.place(start, end)
            fetches.append(Fetch(xorb=xorb, start=start, end=end, place=place))
    return Reconstruction(skip=skip, spans=tuple(spans), fetches=tuple(fetches))


def answer_dedup_query(hub: Hub, session: XetSession, chunk: bytes) -> bytes | None:
    """Return a shard with chunks that need not be sent again; None when there are none.

    Besides the xorb that holds the chunk the first reply names the repository's newest ones: a
    kernel's next build changes the first chunk, which is the one that clients ask for, and
    little else.
    """
    xorbs = {} if hub.told.get(session.id) else _newest_xorbs(hub, session.repo)
    hub.told.put(session.id, True)
    found = hub.large.find_chunks([chunk]).get(chunk)
    if found is not None:
        name = hub.large.xorb(found[0]).hash
        xorbs |= hub.large.xorbs_for(audience(session.bearer), [name])
    if not xorbs:
        return None
    # Equal replies on one day have equal bytes, so clients keep one of them.
    today = int(time.time()) // DAY_S * DAY_S
    names = sorted(xorbs)
    return render_dedup_shard(
        [(name, xorbs[name].index) for name in names],
        key=hub.tickets.derive(b"dedup", str(today).encode(), *names),
        created_s=today,
        expires_s=today + 7 * DAY_S,
    )


def _newest_xorbs(hub: Hub, repo: Repo) -> dict[bytes, Xorb]:
    xorbs: dict[bytes, Xorb] = {}
    chunks = 0
    for xorb in hub.large.newest_xorbs(repo.id, limit=KNOWN_XORBS):
        chunks += len(xorb.index)
        if chunks > KNOWN_CHUNKS:
            break
        xorbs[xorb.hash] = xorb
    return xorbs


def _merge(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join sorted ranges that touch or overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
