"""Send a file's bytes, or those that are asked for; receive large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from kernelmill.hub.routes.common import body_pieces, check_length, too_large
from kernelmill.hub.wire.ranges import parse_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from starlette.requests import Request

    from kernelmill.hub.service.ingest import Receiver

IN_MEMORY_BYTES: Final = 1024 * 1024
PIECE_BYTES: Final = 1024 * 1024

SAFE_HEADERS: Final = {
    "Accept-Ranges": "bytes",
    # Uploads are not ours: a browser must neither guess their type nor run them.
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


def content_response(
    request: Request,
    *,
    content_id: str,
    size_bytes: int,
    stream: Callable[[range], Iterator[bytes]],
    headers: Mapping[str, str],
) -> Response:
    """Answer a request for a file's content, which ``content_id`` stands for.

    Raises:
        RangeNotSatisfiable: a range starts past the end.
    """
    etag = f'"{content_id}"'
    sent = {**SAFE_HEADERS, "ETag": etag, **headers}
    known = request.headers.get("if-none-match", "")
    if etag in known or known.strip() == "*":
        return Response(status_code=304, headers=sent)
    is_same = request.headers.get("if-range", etag) == etag
    wanted = parse_range(request.headers.get("range") if is_same else None, size_bytes)
    span = range(size_bytes) if wanted is None else wanted
    sent["Content-Length"] = str(len(span))
    if wanted is not None:
        sent["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{size_bytes}"
    status = 200 if wanted is None else 206
    if request.method == "HEAD":
        return Response(status_code=status, headers=sent)
    pieces = stream(span)
    if len(span) <= IN_MEMORY_BYTES:
        return Response(b"".join(pieces), status, headers=sent)
    return StreamingResponse(pieces, status, headers=sent)


async def receive(request: Request, receiver: Receiver, *, max_bytes: int) -> None:
    """Write a request's body where ``receiver`` says, as it comes.

    Raises:
        TooLarge: it is longer than ``max_bytes``; nothing of it is kept.
    """
    check_length(request, max_bytes)
    pending = bytearray()
    async for piece in body_pieces(request):
        pending += piece
        if receiver.size_bytes + len(pending) > max_bytes:
            raise too_large(max_bytes)
        if len(pending) >= PIECE_BYTES:
            await run_in_threadpool(receiver.write, bytes(pending))
            pending.clear()
    await run_in_threadpool(receiver.write, bytes(pending))
    await run_in_threadpool(receiver.flush)
