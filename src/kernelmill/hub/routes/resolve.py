"""Download one file."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING

from starlette.routing import Route

from kernelmill.hub.errors import EntryNotFound
from kernelmill.hub.routes.common import base_url, path_text, repo_to_read
from kernelmill.hub.routes.content import content_response
from kernelmill.hub.service.access import find_revision
from kernelmill.hub.service.large import stream_file, with_large
from kernelmill.hub.service.reading import find_entry
from kernelmill.hub.wire.hashes import hash_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.access import Revision
    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.large import LargeFile
    from kernelmill.hub.store.names import RepoKind


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
        [entry] = with_large(self._hub, revision, [find_entry(revision, path)])
        if entry.is_folder:
            raise EntryNotFound(f"{path!r} is a folder", commit=revision.commit)
        headers = {"X-Repo-Commit": revision.commit, "Content-Type": _content_type(path)}
        large = entry.large
        if large is None:
            return content_response(
                request,
                content_id=entry.id,
                size_bytes=entry.size_bytes,
                stream=lambda span: _slice(revision.objects.stream(entry.id), span),
                headers=headers,
            )
        return content_response(
            request,
            content_id=large.sha256,
            size_bytes=large.size_bytes,
            stream=lambda span: stream_file(self._hub.large, large, span),
            headers=headers | self._large_headers(request, revision, large),
        )

    def _large_headers(
        self, request: Request, revision: Revision, file: LargeFile
    ) -> dict[str, str]:
        """Say what the client may fetch in pieces, and where it gets a token for that."""
        repo = f"/api/{self._kind}s/{revision.repo.full_name}"
        token = f"{base_url(request)}{repo}/xet-read-token/{revision.commit}"
        return {
            "X-Linked-ETag": f'"{file.sha256}"',
            "X-Linked-Size": str(file.size_bytes),
            "X-Xet-Hash": hash_text(file.hash),
            "Link": f'<{token}>; rel="xet-auth"',
        }


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
