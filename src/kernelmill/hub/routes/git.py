"""Clone and fetch with git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio.to_thread
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from kernelmill.hub.errors import Forbidden, InvalidRequest
from kernelmill.hub.git.upload_pack import SERVICE, advertise, answer, check_protocol, unpack_wants
from kernelmill.hub.routes.common import KINDS, read_body, repo_to_read

if TYPE_CHECKING:
    from starlette.requests import Request

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.names import RepoKind

NO_CACHE: Final = {"Cache-Control": "no-cache"}
NO_PUSH: Final = "this Hub takes no pushes: upload with the API, for example `kernels upload`"


def git_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of git, with and without ``.git`` behind the name."""
    routes = []
    for kind in KINDS:
        one = _Git(hub, kind)
        prefix = "" if kind == "model" else f"/{kind}s"
        for suffix in (".git", ""):
            repo = f"{prefix}/{{namespace}}/{{name}}{suffix}"
            routes += [
                Route(f"{repo}/info/refs", one.refs),
                Route(f"{repo}/{SERVICE}", one.upload_pack, methods=["POST"]),
                Route(f"{repo}/git-receive-pack", one.receive_pack, methods=["POST"]),
            ]
    return routes


class _Git:
    def __init__(self, hub: Hub, kind: RepoKind) -> None:
        self._hub = hub
        self._kind = kind

    def refs(self, request: Request) -> Response:
        repo = repo_to_read(self._hub, request, self._kind)
        service = request.query_params.get("service", "")
        if service == "git-receive-pack":
            raise Forbidden(NO_PUSH)
        if service != SERVICE:
            raise InvalidRequest("this Hub speaks git's smart protocol only: use a newer git")
        body = advertise(self._hub, repo, _protocol(request))
        media_type = f"application/x-{SERVICE}-advertisement"
        return Response(body, headers=NO_CACHE, media_type=media_type)

    async def upload_pack(self, request: Request) -> Response:
        repo = await anyio.to_thread.run_sync(repo_to_read, self._hub, request, self._kind)
        body = await read_body(request, max_bytes=self._hub.settings.max_json_bytes)
        wants = unpack_wants(body, request.headers.get("content-encoding", ""))
        pieces = answer(self._hub, repo, _protocol(request), wants)
        media_type = f"application/x-{SERVICE}-result"
        return StreamingResponse(pieces, headers=NO_CACHE, media_type=media_type)

    def receive_pack(self, _: Request) -> Response:
        raise Forbidden(NO_PUSH)


def _protocol(request: Request) -> str:
    return check_protocol(request.headers.get("git-protocol", ""))
