"""Upload: ask how, then commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.responses import JSONResponse
from starlette.routing import Route

from kernelmill.hub.errors import EntryNotFound, InvalidRequest
from kernelmill.hub.routes.common import (
    KINDS,
    base_url,
    is_set,
    path_text,
    repo_to_write,
    spooled_body,
    with_json,
)
from kernelmill.hub.service.access import find_revision
from kernelmill.hub.service.commits import commit
from kernelmill.hub.service.reading import find_entry
from kernelmill.hub.wire.commits import parse_commit
from kernelmill.hub.wire.names import check_path
from kernelmill.hub.wire.render import repo_path

if TYPE_CHECKING:
    import mmap

    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.access import Revision
    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.store.repos import Repo
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
        _refuse_pull_request(request)
        repo, _ = repo_to_write(self._hub, request, self._kind)
        revision = find_revision(self._hub, repo, path_text(request, "revision"))
        files = [_upload_mode(revision, check_path(f.text("path"))) for f in body.objects("files")]
        return JSONResponse({"files": files, "commitOid": revision.commit})

    async def commit(self, request: Request) -> Response:
        _refuse_pull_request(request)
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
        commit_id = commit(self._hub, repo, bearer.account.name, revision, parse_commit(body))
        page = f"{base_url(request)}{repo_path(self._kind, repo.full_name)}"
        return JSONResponse(
            {
                "success": True,
                "commitOid": commit_id,
                "commitUrl": f"{page}/commit/{commit_id}",
                "hookOutput": "",
            }
        )


def _upload_mode(revision: Revision, path: str) -> Json:
    mode: Json = {"path": path, "uploadMode": "regular", "shouldIgnore": False}
    try:
        # With the id of what is there, the client leaves unchanged files out of its commit.
        return mode | {"oid": find_entry(revision, path).id}
    except EntryNotFound:
        return mode


def _refuse_pull_request(request: Request) -> None:
    if is_set(request, "create_pr"):
        raise InvalidRequest("this Hub has no pull requests yet: commit to a branch")
