"""Download one file."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING, Final

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from kernelmill.hub.errors import EntryNotFound
from kernelmill.hub.routes.common import path_text, repo_to_read
from kernelmill.hub.service.access import find_revision
from kernelmill.hub.service.reading import find_entry
from kernelmill.hub.wire.ranges import parse_range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.names import RepoKind

IN_MEMORY_BYTES: Final = 1024 * 1024


def resolve_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of files."""
    file = "{namespace}/{name}/resolve/{revision}/{path:path}"
    return [
        Route(f"/kernels/{file}", _Files(hub, "kernel").resolve),
        Route(f"/{file}", _Files(hub, "model").resolve),
    ]


class _Files:
    def __init__(self, hub: Hub, kind: RepoKind) -> None:
        self._hub = hub
        self._kind = kind

    def resolve(self, request: Request) -> Response:
        repo = repo_to_read(self._hub, request, self._kind)
        revision = find_revision(self._hub, repo, path_text(request, "revision"))
        path = path_text(request, "path")
        entry = find_entry(revision, path)
        if entry.is_folder:
            raise EntryNotFound(f"{path!r} is a folder", commit=revision.commit)
        etag = f'"{entry.id}"'
        headers = {
            "X-Repo-Commit": revision.commit,
            "ETag": etag,
            "Accept-Ranges": "bytes",
            "Content-Type": _content_type(path),
            # Uploads are not ours: a browser must neither guess their type nor run them.
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; sandbox",
        }
        known = request.headers.get("if-none-match", "")
        if etag in known or known.strip() == "*":
            return Response(status_code=304, headers=headers)
        is_same = request.headers.get("if-range", etag) == etag
        wanted = parse_range(request.headers.get("range") if is_same else None, entry.size_bytes)
        span = range(entry.size_bytes) if wanted is None else wanted
        headers["Content-Length"] = str(len(span))
        if wanted is not None:
            headers["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{entry.size_bytes}"
        status = 200 if wanted is None else 206
        if request.method == "HEAD":
            return Response(status_code=status, headers=headers)
        pieces = _slice(revision.objects.stream(entry.id), span)
        if entry.size_bytes <= IN_MEMORY_BYTES:
            return Response(b"".join(pieces), status, headers=headers)
        return StreamingResponse(pieces, status, headers=headers)


def _slice(pieces: Iterator[bytes], span: range) -> Iterator[bytes]:
    """Yield the bytes of ``span``; what lies before it is inflated and dropped."""
    position = 0
    for piece in pieces:
        start, stop = max(span.start - position, 0), span.stop - position
        if start < len(piece):
            yield piece[start:stop]
        position += len(piece)
        if position >= span.stop:
            return


def _content_type(path: str) -> str:
    guess, _ = mimetypes.guess_type(path)
    is_text = guess is not None and (guess.startswith("text/") or guess == "application/json")
    return "text/plain; charset=utf-8" if is_text else "application/octet-stream"
