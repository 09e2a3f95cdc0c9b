"""Repositories that are asked for without a namespace, as some clients may: there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from kernelmill.hub.errors import HiddenRepo, RepoNotFound
from kernelmill.hub.routes.common import KINDS, bearer_of, path_text

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.hub import Hub


def fallback_routes(hub: Hub) -> list[Route]:
    """Return the routes to try last: without them the client would see a 404 of unknown kind."""

    def refuse(request: Request) -> Response:
        name = path_text(request, "name")
        text = f"repository {name!r} not found: here they are called namespace/name"
        raise RepoNotFound(text) if bearer_of(hub, request) else HiddenRepo(text)

    return [
        Route("/{name}/resolve/{revision}/{path:path}", refuse),
        *(
            Route(f"/api/{kind}s/{{name}}{rest}", refuse)
            for kind in KINDS
            for rest in ("", "/refs", "/revision/{revision}", "/tree/{revision}")
        ),
    ]
