"""The store of large files as hf-xet speaks to it: xorbs, shards, and how files are made."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from anyio import CapacityLimiter
from sqlalchemy.exc import OperationalError
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kernelmill.hub.errors import BadTicket, InvalidRequest, LargeFileNotFound, Refusal
from kernelmill.hub.routes.common import base_url, path_text, read_body
from kernelmill.hub.routes.content import SAFE_HEADERS, receive
from kernelmill.hub.service.ingest import receiver
from kernelmill.hub.service.shards import Registered, Verified, register_shard
from kernelmill.hub.service.xet import (
    add_xorb,
    answer_dedup_query,
    find_file,
    open_session,
    reconstruct,
)
from kernelmill.hub.wire.hashes import hash_text, parse_hash
from kernelmill.hub.wire.ranges import parse_range
from kernelmill.hub.wire.shards import parse_shard
from kernelmill.hub.wire.xorbs import MAX_STORED_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.xet import Fetch, Mode, Reconstruction, XetSession
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.wire.shards import Shard

log = logging.getLogger(__name__)

PIECE_BYTES: Final = 1024 * 1024


def cas_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of the large file store."""
    writes = _Writes(hub, CapacityLimiter(hub.settings.commit_threads))
    reads = _Reads(hub)
    return [
        Route("/cas/v1/xorbs/{prefix}/{hash}", writes.xorb, methods=["POST"]),
        Route("/cas/v1/shards", writes.shard, methods=["POST"]),
        Route("/cas/v2/shards", writes.shard_with_progress, methods=["POST"]),
        Route("/cas/v1/chunks/{prefix}/{hash}", reads.dedup),
        Route("/cas/v1/reconstructions/{hash}", reads.reconstruction_v1),
        Route("/cas/v2/reconstructions/{hash}", reads.reconstruction_v2),
        Route("/cas/data/{hash}", reads.data),
    ]


def _session(hub: Hub, request: Request, mode: Mode) -> XetSession:
    return open_session(hub, request.headers.get("authorization"), mode)


class _Writes:
    def __init__(self, hub: Hub, writers: CapacityLimiter) -> None:
        self._hub = hub
        self._writers = writers

    async def xorb(self, request: Request) -> Response:
        # Rights are checked before the body is received.
        session = await anyio.to_thread.run_sync(_session, self._hub, request, "write")
        name = parse_hash(path_text(request, "hash"))
        with receiver(self._hub.scratch) as received:
            await receive(request, received, max_bytes=MAX_STORED_BYTES)
            is_new = await anyio.to_thread.run_sync(
                add_xorb, self._hub, session, name, received.path, limiter=self._writers
            )
        return JSONResponse({"was_inserted": is_new})

    async def shard(self, request: Request) -> Response:
        session, shard = await self._receive_shard(request)

        def register() -> int:
            *_, last = register_shard(self._hub, session.repo, _writer(session), shard)
            return int(isinstance(last, Registered) and last.is_new)

        result = await anyio.to_thread.run_sync(register, limiter=self._writers)
        return JSONResponse({"result": result})

    async def shard_with_progress(self, request: Request) -> Response:
        session, shard = await self._receive_shard(request)
        lines = self._progress(session, shard)
        return StreamingResponse(lines, media_type="application/x-ndjson")

    async def _receive_shard(self, request: Request) -> tuple[XetSession, Shard]:
        session = await anyio.to_thread.run_sync(_session, self._hub, request, "write")
        body = await read_body(request, max_bytes=self._hub.settings.max_shard_bytes)
        return session, parse_shard(body)

    def _progress(self, session: XetSession, shard: Shard) -> Iterator[bytes]:
        # The status is sent already: what goes wrong from here on is a line.
        try:
            for step in register_shard(self._hub, session.repo, _writer(session), shard):
                match step:
                    case Verified(done=done, total=total):
                        line = {"type": "validating", "verified": done, "total": total}
                        yield _line(line)
                    case Registered():
                        yield _line({"type": "committing", "stage": "syncing"})
                        yield _line({"type": "result"})
        except Refusal as error:
            yield _line({"type": "error", "message": str(error), "retryable": False})
        except (OSError, OperationalError):
            log.exception("a shard could not be registered")
            text = "the Hub's storage failed: try again"
            yield _line({"type": "error", "message": text, "retryable": True})


class _Reads:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def dedup(self, request: Request) -> Response:
        session = _session(self._hub, request, "write")
        shard = answer_dedup_query(self._hub, session, parse_hash(path_text(request, "hash")))
        if shard is None:
            raise LargeFileNotFound("the chunk is not known here")
        return Response(shard, media_type="application/octet-stream")

    def reconstruction_v1(self, request: Request) -> Response:
        found = self._reconstruct(request)
        fetch_info: dict[str, list[object]] = {}
        for fetch in found.fetches:
            fetch_info.setdefault(hash_text(fetch.xorb.hash), []).append(
                {
                    "range": {"start": fetch.start, "end": fetch.end},
                    "url": self._url(request, fetch),
                    "url_range": {"start": fetch.place.start, "end": fetch.place.stop - 1},
                }
            )
        return JSONResponse(self._terms(found) | {"fetch_info": fetch_info})

    def reconstruction_v2(self, request: Request) -> Response:
        found = self._reconstruct(request)
        xorbs: dict[str, list[object]] = {}
        for fetch in found.fetches:
            piece = {
                "chunks": {"start": fetch.start, "end": fetch.end},
                "bytes": {"start": fetch.place.start, "end": fetch.place.stop - 1},
            }
            xorbs.setdefault(hash_text(fetch.xorb.hash), []).append(
                {"url": self._url(request, fetch), "ranges": [piece]}
            )
        return JSONResponse(self._terms(found) | {"xorbs": xorbs})

    def data(self, request: Request) -> Response:
        """Send a part of a xorb to whoever has an address of it."""
        ticket = self._hub.tickets.read(request.query_params.get("ticket", ""), "xorb")
        xorb = self._hub.large.xorb(ticket.number("xorb"))
        allowed = range(ticket.number("start"), ticket.number("stop"))
        size_bytes = xorb.index.stored_bytes
        span = parse_range(request.headers.get("range"), size_bytes) or range(size_bytes)
        if span.start < allowed.start or span.stop > allowed.stop:
            raise BadTicket(f"the address is good for bytes {allowed.start}-{allowed.stop - 1}")
        headers = SAFE_HEADERS | {
            "Content-Length": str(len(span)),
            "Content-Range": f"bytes {span.start}-{span.stop - 1}/{size_bytes}",
        }
        view = self._hub.large.open_xorb(xorb.key)
        pieces = (
            bytes(view[start : min(start + PIECE_BYTES, span.stop)])
            for start in range(span.start, span.stop, PIECE_BYTES)
        )
        return StreamingResponse(
            pieces, 206, headers=headers, media_type="application/octet-stream"
        )

    def _reconstruct(self, request: Request) -> Reconstruction:
        session = _session(self._hub, request, "read")
        file = find_file(self._hub, session, parse_hash(path_text(request, "hash")))
        header = request.headers.get("range")
        wanted = parse_range(header, file.size_bytes) if file.size_bytes or header else None
        return reconstruct(self._hub, file, wanted or range(file.size_bytes))

    def _terms(self, found: Reconstruction) -> dict[str, object]:
        terms = []
        for span in found.spans:
            xorb = self._hub.large.xorb(span.xorb)
            terms.append(
                {
                    "hash": hash_text(xorb.hash),
                    "unpacked_length": xorb.index.size(span.start, span.end),
                    "range": {"start": span.start, "end": span.end},
                }
            )
        return {"offset_into_first_range": found.skip, "terms": terms}

    def _url(self, request: Request, fetch: Fetch) -> str:
        ticket = self._hub.tickets.issue(
            "xorb",
            expires_s=self._hub.tickets.expiry(self._hub.settings.ticket_s),
            xorb=fetch.xorb.id,
            start=fetch.place.start,
            stop=fetch.place.stop,
        )
        return f"{base_url(request)}/cas/data/{hash_text(fetch.xorb.hash)}?ticket={ticket}"


def _writer(session: XetSession) -> Bearer:
    if session.bearer is None:
        raise InvalidRequest("nobody writes without a token")
    return session.bearer


def _line(value: dict[str, object]) -> bytes:
    return json.dumps(value).encode() + b"\n"
