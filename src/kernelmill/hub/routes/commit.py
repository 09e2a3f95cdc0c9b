"""Upload: ask how, then commit."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.responses import JSONResponse
from starlette.routing import Route

from kernelmill.hub.errors import EntryNotFound
from kernelmill.hub.routes.common import (
    KINDS,
    base_url,
    path_text,
    refuse_pull_request,
    repo_to_write,
    spooled_body,
    with_json,
)
from kernelmill.hub.service.access import find_revision
from kernelmill.hub.service.commits import commit
from kernelmill.hub.service.large import claim_large, read_attributes, with_large
from kernelmill.hub.service.reading import find_entry
from kernelmill.hub.wire.attributes import is_large
from kernelmill.hub.wire.commits import decode_base64, parse_commit
from kernelmill.hub.wire.names import check_path
from kernelmill.hub.wire.render import repo_path

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterable, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.access import Revision
    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.reading import Entry
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.store.repos import Repo
    from kernelmill.hub.wire.attributes import Patterns
    from kernelmill.hub.wire.fields import Fields
    from kernelmill.hub.wire.render import Json


def commit_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of uploads."""
    limit = hub.settings.max_json_bytes
    writers = CapacityLimiter(hub.settings.commit_threads)
    routes = []
    for kind in KINDS:
        one = _Uploads(hub, kind, writers)
        repo = f"/api/{kind}s/{{namespace}}/{{name}}"
        preupload = with_json(one.preupload, max_bytes=limit)
        routes += [
            Route(f"{repo}/preupload/{{revision}}", preupload, methods=["POST"]),
            Route(f"{repo}/commit/{{revision}}", one.commit, methods=["POST"]),
        ]
    return routes


class _Uploads:
    def __init__(self, hub: Hub, kind: RepoKind, writers: CapacityLimiter) -> None:
        self._hub = hub
        self._kind = kind
        self._writers = writers

    def preupload(self, request: Request, body: Fields) -> Response:
        refuse_pull_request(request)
        repo, _ = repo_to_write(self._hub, request, self._kind)
        revision = find_revision(self._hub, repo, path_text(request, "revision"))
        patterns = read_attributes(revision)
        files = [_upload_mode(file, patterns) for file in body.objects("files")]
        known = with_large(self._hub, revision, _existing(revision, files))
        # With the id of what is there, the client leaves unchanged files out of its commit.
        ids = {entry.path: entry.large.sha256 if entry.large else entry.id for entry in known}
        for file in files:
            if str(file["path"]) in ids:
                file["oid"] = ids[str(file["path"])]
        return JSONResponse({"files": files, "commitOid": revision.commit})

    async def commit(self, request: Request) -> Response:
        refuse_pull_request(request)
        # Rights are checked before the body is received, which may be gigabytes.
        repo, bearer = await anyio.to_thread.run_sync(repo_to_write, self._hub, request, self._kind)
        settings = self._hub.settings
        async with spooled_body(
            request,
            folder=self._hub.scratch,
            max_bytes=settings.max_upload_bytes,
            memory_bytes=settings.spool_memory_bytes,
        ) as body:
            return await anyio.to_thread.run_sync(
                self._commit, request, repo, bearer, body, limiter=self._writers
            )

    def _commit(
        self, request: Request, repo: Repo, bearer: Bearer, body: bytes | mmap.mmap
    ) -> Response:
        revision = path_text(request, "revision")
        lines = claim_large(self._hub, repo, bearer, parse_commit(body))
        commit_id = commit(self._hub, repo, bearer.account.name, revision, lines)
        page = f"{base_url(request)}{repo_path(self._kind, repo.full_name)}"
        return JSONResponse(
            {
                "success": True,
                "commitOid": commit_id,
                "commitUrl": f"{page}/commit/{commit_id}",
                "hookOutput": "",
            }
        )


def _upload_mode(file: Fields, patterns: Patterns) -> Json:
    path = check_path(file.text("path"))
    size_bytes = file.number("size") if file.has("size") else 0
    sample = decode_base64(file.text("sample", "").encode(), where=path)
    mode = "lfs" if is_large(path, size_bytes, sample, patterns) else "regular"
    return {"path": path, "uploadMode": mode, "shouldIgnore": False}


def _existing(revision: Revision, files: Iterable[Json]) -> Iterator[Entry]:
    for file in files:
        with suppress(EntryNotFound):
            yield find_entry(revision, str(file["path"]))
