"""Branches and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from kernelmill.hub.routes.common import (
    KINDS,
    is_set,
    path_text,
    repo_to_read,
    repo_to_write,
    with_json,
)
from kernelmill.hub.service import refs
from kernelmill.hub.store.names import MAIN
from kernelmill.hub.store.repos import read_refs
from kernelmill.hub.wire.render import refs_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.wire.fields import Fields


def ref_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of references."""
    limit = hub.settings.max_json_bytes
    routes = []
    for kind in KINDS:
        one = _Refs(hub, kind)
        repo = f"/api/{kind}s/{{namespace}}/{{name}}"
        create_branch = with_json(one.create_branch, max_bytes=limit)
        create_tag = with_json(one.create_tag, max_bytes=limit)
        routes += [
            Route(f"{repo}/refs", one.list),
            Route(f"{repo}/branch/{{ref}}", create_branch, methods=["POST"]),
            Route(f"{repo}/branch/{{ref}}", one.delete_branch, methods=["DELETE"]),
            Route(f"{repo}/tag/{{ref}}", create_tag, methods=["POST"]),
            Route(f"{repo}/tag/{{ref}}", one.delete_tag, methods=["DELETE"]),
        ]
    return routes


class _Refs:
    def __init__(self, hub: Hub, kind: RepoKind) -> None:
        self._hub = hub
        self._kind = kind

    def list(self, request: Request) -> Response:
        repo = repo_to_read(self._hub, request, self._kind)
        values = read_refs(self._hub.database, repo.id)
        objects = self._hub.objects.reader(repo.id, repo.gen)
        commits = {name: objects.peel(value) for name, value in values.items()}
        return JSONResponse(refs_json(commits, has_pulls=is_set(request, "include_prs")))

    def create_branch(self, request: Request, body: Fields) -> Response:
        repo, _ = repo_to_write(self._hub, request, self._kind)
        start = body.text("startingPoint", MAIN)
        refs.create_branch(self._hub, repo, path_text(request, "ref"), start)
        return JSONResponse({"success": True})

    def delete_branch(self, request: Request) -> Response:
        repo, _ = repo_to_write(self._hub, request, self._kind)
        refs.delete_branch(self._hub, repo, path_text(request, "ref"))
        return JSONResponse({"success": True})

    def create_tag(self, request: Request, body: Fields) -> Response:
        repo, bearer = repo_to_write(self._hub, request, self._kind)
        refs.create_tag(
            self._hub,
            repo,
            body.text("tag"),
            path_text(request, "ref"),
            message=body.text("message", ""),
            author=bearer.account.name,
        )
        return JSONResponse({"success": True})

    def delete_tag(self, request: Request) -> Response:
        repo, _ = repo_to_write(self._hub, request, self._kind)
        refs.delete_tag(self._hub, repo, path_text(request, "ref"))
        return JSONResponse({"success": True})
