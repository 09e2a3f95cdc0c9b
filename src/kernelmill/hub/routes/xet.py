"""Xet tokens: what a client needs before it speaks to the store of large files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from kernelmill.hub.routes.common import (
    KINDS,
    base_url,
    bearer_of,
    path_text,
    refuse_pull_request,
    repo_to_read,
    repo_to_write,
)
from kernelmill.hub.service.access import find_revision
from kernelmill.hub.service.xet import issue_token

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.xet import Mode
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.store.repos import Repo


def xet_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of tokens."""
    routes = []
    for kind in KINDS:
        one = _Tokens(hub, kind)
        repo = f"/api/{kind}s/{{namespace}}/{{name}}"
        routes += [
            Route(f"{repo}/xet-read-token/{{revision}}", one.read),
            Route(f"{repo}/xet-write-token/{{revision}}", one.write),
        ]
    return routes


class _Tokens:
    def __init__(self, hub: Hub, kind: RepoKind) -> None:
        self._hub = hub
        self._kind = kind

    def read(self, request: Request) -> Response:
        repo = repo_to_read(self._hub, request, self._kind)
        return self._answer(request, repo, bearer_of(self._hub, request), "read")

    def write(self, request: Request) -> Response:
        refuse_pull_request(request)
        repo, bearer = repo_to_write(self._hub, request, self._kind)
        return self._answer(request, repo, bearer, "write")

    def _answer(self, request: Request, repo: Repo, bearer: Bearer | None, mode: Mode) -> Response:
        find_revision(self._hub, repo, path_text(request, "revision"))
        body, headers = token_reply(self._hub, request, repo, bearer, mode)
        return JSONResponse(body, headers=headers)


def token_reply(
    hub: Hub, request: Request, repo: Repo, bearer: Bearer | None, mode: Mode
) -> tuple[dict[str, object], dict[str, str]]:
    """Return a new token as JSON and as headers: some clients read one, some the other."""
    url = f"{base_url(request)}/cas"
    token, expires_s = issue_token(hub, repo, bearer, mode)
    headers = {
        "X-Xet-Cas-Url": url,
        "X-Xet-Access-Token": token,
        "X-Xet-Token-Expiration": str(expires_s),
    }
    return {"casUrl": url, "exp": expires_s, "accessToken": token}, headers
