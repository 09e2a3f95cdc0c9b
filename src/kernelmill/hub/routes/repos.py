"""Create, describe, list, rename, hide and delete repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from kernelmill.hub import auth
from kernelmill.hub.errors import InvalidRequest, NotSignedIn
from kernelmill.hub.routes.common import (
    KINDS,
    base_url,
    bearer_of,
    is_set,
    kind_of,
    next_link,
    path_text,
    query_number,
    repo_to_read,
    repo_to_write,
    with_json,
)
from kernelmill.hub.service.access import find_revision, main_revision
from kernelmill.hub.service.large import with_large
from kernelmill.hub.service.reading import list_tree
from kernelmill.hub.service.repos import create_repo, delete_repo, move_repo
from kernelmill.hub.store.repos import list_repos, set_private
from kernelmill.hub.wire.names import parse_repo_id
from kernelmill.hub.wire.render import repo_json, repo_path, revision_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.wire.fields import Fields


def repo_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of repositories as wholes."""
    limit = hub.settings.max_json_bytes
    lifecycle = _Lifecycle(hub)
    routes = [
        Route("/api/repos/create", with_json(lifecycle.create, max_bytes=limit), methods=["POST"]),
        Route(
            "/api/repos/delete", with_json(lifecycle.delete, max_bytes=limit), methods=["DELETE"]
        ),
        Route("/api/repos/move", with_json(lifecycle.move, max_bytes=limit), methods=["POST"]),
    ]
    for kind in KINDS:
        one = _OfKind(hub, kind)
        repo = f"/api/{kind}s/{{namespace}}/{{name}}"
        routes += [
            Route(f"/api/{kind}s", one.list),
            Route(repo, one.describe),
            Route(f"{repo}/revision/{{revision}}", one.describe),
            Route(
                f"{repo}/settings",
                with_json(one.change_settings, max_bytes=limit),
                methods=["PUT"],
            ),
            Route(f"{repo}/auth-check", one.check_read),
            Route(f"{repo}/auth-check/write", one.check_write),
        ]
    return routes


class _Lifecycle:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def create(self, request: Request, body: Fields) -> Response:
        bearer = bearer_of(self._hub, request)
        if bearer is None:
            raise NotSignedIn("a token is needed to create a repository")
        kind = kind_of(body.text("type", "model"))
        repo = create_repo(
            self._hub,
            bearer,
            kind,
            body.text("organization", bearer.account.name),
            body.text("name"),
            is_private=_wants_private(body, default=False),
        )
        url = base_url(request) + repo_path(kind, repo.full_name)
        return JSONResponse({"url": url, "name": repo.full_name, "id": repo.id})

    def delete(self, request: Request, body: Fields) -> Response:
        bearer = bearer_of(self._hub, request)
        if bearer is None:
            raise NotSignedIn("a token is needed to delete a repository")
        namespace = body.text("organization", bearer.account.name)
        name = f"{namespace}/{body.text('name')}"
        delete_repo(self._hub, bearer, kind_of(body.text("type", "model")), name)
        return JSONResponse({"success": True})

    def move(self, request: Request, body: Fields) -> Response:
        kind = kind_of(body.text("type", "model"))
        target = parse_repo_id(body.text("toRepo"))
        bearer = bearer_of(self._hub, request)
        move_repo(self._hub, bearer, kind, body.text("fromRepo"), target)
        return JSONResponse({"success": True})


class _OfKind:
    def __init__(self, hub: Hub, kind: RepoKind) -> None:
        self._hub = hub
        self._kind = kind

    def list(self, request: Request) -> Response:
        bearer = bearer_of(self._hub, request)
        limit = max(query_number(request, "limit", default=100, most=1000), 1)
        found = list_repos(
            self._hub.database,
            self._kind,
            visible=None if auth.is_admin(bearer) else list(auth.namespaces(bearer)),
            author=request.query_params.get("author", ""),
            search=request.query_params.get("search", ""),
            after=request.query_params.get("cursor", ""),
            limit=limit + 1,
        )
        page = found[:limit]
        headers = {}
        if len(found) > limit:
            cursor = page[-1].full_name.lower()
            headers = next_link(request, f"/api/{self._kind}s", cursor=cursor)
        return JSONResponse([repo_json(repo) for repo in page], headers=headers)

    def describe(self, request: Request) -> Response:
        repo = repo_to_read(self._hub, request, self._kind)
        revision = (
            find_revision(self._hub, repo, path_text(request, "revision"))
            if "revision" in request.path_params
            else main_revision(self._hub, repo)
        )
        entries = list_tree(revision, "", is_recursive=True)
        has_blobs = is_set(request, "blobs")
        body = revision_json(
            repo,
            revision.commit,
            revision.objects.commit(revision.commit),
            with_large(self._hub, revision, entries) if has_blobs else entries,
            has_blobs=has_blobs,
        )
        return JSONResponse(body)

    def change_settings(self, request: Request, body: Fields) -> Response:
        repo, _ = repo_to_write(self._hub, request, self._kind)
        if body.has("gated") and body.flag("gated", default=False):
            raise InvalidRequest("this Hub has no gated repositories")
        is_private = _wants_private(body, default=repo.is_private)
        set_private(self._hub.database, repo, is_private=is_private)
        return JSONResponse({"private": is_private})

    def check_read(self, request: Request) -> Response:
        repo_to_read(self._hub, request, self._kind)
        return JSONResponse({"success": True})

    def check_write(self, request: Request) -> Response:
        repo_to_write(self._hub, request, self._kind)
        return JSONResponse({"success": True})


def _wants_private(body: Fields, *, default: bool) -> bool:
    match body.text("visibility", ""):
        case "":
            return body.flag("private", default=default)
        case "private":
            return True
        case "public":
            return False
        case other:
            raise InvalidRequest(f"unknown visibility {other!r}: 'public' or 'private'")
