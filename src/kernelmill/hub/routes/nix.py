"""Binary caches, as Nix speaks to them: ``/nix/OWNER``, and ``/nix/OWNER/private`` for members."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from kernelmill.hub.auth import identify
from kernelmill.hub.errors import EntryNotFound, InvalidRequest
from kernelmill.hub.routes.common import check_length, path_text, read_body, received_pieces
from kernelmill.hub.service import nix_cache
from kernelmill.hub.service.nix_cache import PRIVATE, PUBLIC, open_cache, open_cache_for_writing
from kernelmill.hub.wire.ranges import parse_range
from kernelmill.spec import narinfo
from kernelmill.spec.nix_store import STORE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.nix_cache import NixCache

PIECE_BYTES: Final = 1 << 20
INFO_SUFFIX: Final = ".narinfo"


def nix_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of binary caches."""
    routes = []
    for shelf, prefix in ((PRIVATE, "/nix/{owner}/private"), (PUBLIC, "/nix/{owner}")):
        shown = _Shelf(hub, shelf)
        routes += [
            Route(f"{prefix}/{narinfo.INFO_NAME}", shown.about),
            Route(f"{prefix}/{narinfo.INFO_NAME}", shown.keep_about, methods=["PUT"]),
            Route(f"{prefix}/nar/{{file}}", shown.get_archive),
            Route(f"{prefix}/nar/{{file}}", shown.put_archive, methods=["PUT"]),
            Route(f"{prefix}/{{file}}", shown.get_entry),
            Route(f"{prefix}/{{file}}", shown.put_entry, methods=["PUT"]),
        ]
    return routes


class _Shelf:
    def __init__(self, hub: Hub, shelf: str) -> None:
        self._hub = hub
        self._shelf = shelf

    def about(self, request: Request) -> Response:
        self._to_read(request)
        return PlainTextResponse(narinfo.CACHE_INFO, media_type="text/x-nix-cache-info")

    async def keep_about(self, request: Request) -> Response:
        """Accept what a client would write into a new cache, if it is what stands there."""
        await run_in_threadpool(self._to_write, request)
        body = await read_body(request, max_bytes=narinfo.MAX_BYTES)
        if f"StoreDir: {STORE}".encode() not in body.splitlines():
            raise InvalidRequest(f"this cache is for paths of {STORE}")
        return Response(status_code=200)

    def get_entry(self, request: Request) -> Response:
        cache = self._to_read(request)
        content = bytes(cache.find(f"{_digits(request)}{INFO_SUFFIX}"))
        return Response(content, media_type="text/x-nix-narinfo")

    async def put_entry(self, request: Request) -> Response:
        cache = await run_in_threadpool(self._to_write, request)
        digits = _digits(request)
        body = await read_body(request, max_bytes=narinfo.MAX_BYTES)
        try:
            content = body.decode()
        except UnicodeDecodeError as error:
            raise InvalidRequest("the body is not UTF-8") from error
        await run_in_threadpool(nix_cache.put_entry, cache, digits, content)
        return Response(status_code=200)

    def get_archive(self, request: Request) -> Response:
        packed = self._to_read(request).find(f"nar/{_archive(request)}")
        wanted = parse_range(request.headers.get("range"), len(packed))
        span = range(len(packed)) if wanted is None else wanted
        headers = {
            "Content-Type": "application/x-nix-nar",
            "Content-Length": str(len(span)),
            "Accept-Ranges": "bytes",
            "X-Content-Type-Options": "nosniff",
        }
        if wanted is not None:
            headers["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{len(packed)}"
        status = 200 if wanted is None else 206
        if request.method == "HEAD":
            return Response(status_code=status, headers=headers)
        return StreamingResponse(_pieces(packed, span), status, headers=headers)

    async def put_archive(self, request: Request) -> Response:
        cache = await run_in_threadpool(self._to_write, request)
        file = _archive(request)
        limit = self._hub.settings.max_upload_bytes
        check_length(request, limit)
        digest = hashlib.sha256()
        with tempfile.NamedTemporaryFile(dir=self._hub.scratch) as spool:
            async for pieces in received_pieces(request, max_bytes=limit, at_least=PIECE_BYTES):
                digest.update(pieces)
                await run_in_threadpool(spool.write, pieces)
            spool.flush()
            await run_in_threadpool(
                nix_cache.put_archive, cache, file, Path(spool.name), digest.hexdigest()
            )
        return Response(status_code=200)

    def _to_read(self, request: Request) -> NixCache:
        bearer = identify(self._hub.database, request.headers.get("authorization"))
        return open_cache(self._hub, bearer, path_text(request, "owner"), self._shelf)

    def _to_write(self, request: Request) -> NixCache:
        bearer = identify(self._hub.database, request.headers.get("authorization"))
        return open_cache_for_writing(self._hub, bearer, path_text(request, "owner"), self._shelf)


def _digits(request: Request) -> str:
    file = path_text(request, "file")
    digits, suffix = file[:32], file[32:]
    if suffix != INFO_SUFFIX or not narinfo.PATH_HASH.fullmatch(digits):
        raise EntryNotFound(f"{file[:80]!r} is no file of a binary cache")
    return digits


def _archive(request: Request) -> str:
    file = path_text(request, "file")
    if not narinfo.NAR_FILE.fullmatch(file):
        raise EntryNotFound(f"{file[:80]!r} is no archive of a binary cache: nar/<hash>.nar.zst")
    return file


def _pieces(packed: memoryview, span: range) -> Iterator[bytes]:
    for start in range(span.start, span.stop, PIECE_BYTES):
        yield bytes(packed[start : min(start + PIECE_BYTES, span.stop)])
