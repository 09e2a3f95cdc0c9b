"""Large files for git-lfs, and for clients without Xet: the batch call and what it leads to.

Source: git-lfs, docs/api/batch.md; multipart as huggingface_hub speaks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kernelmill.hub.errors import LargeFileNotFound
from kernelmill.hub.routes.common import (
    KINDS,
    base_url,
    bearer_of,
    read_body,
    repo_to_read,
    repo_to_write,
    with_json,
)
from kernelmill.hub.routes.content import content_response, receive
from kernelmill.hub.routes.xet import token_reply
from kernelmill.hub.service.ingest import ingest, receiver
from kernelmill.hub.service.large import audience, stream_file
from kernelmill.hub.service.lfs import PartedUpload, join_parts
from kernelmill.hub.service.xet import session_of
from kernelmill.hub.store.repos import new_id
from kernelmill.hub.wire.fields import Fields, parse_json
from kernelmill.hub.wire.lfs import Batch, LfsObject, object_json, parse_batch

if TYPE_CHECKING:
    from starlette.requests import Request

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.tickets import Ticket
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.store.repos import Repo
    from kernelmill.hub.wire.render import Json

MEDIA_TYPE: Final = "application/vnd.git-lfs+json"


def lfs_routes(hub: Hub) -> list[Route]:
    """Return the endpoints of git-lfs."""
    limit = hub.settings.max_json_bytes
    transfers = _Transfers(hub, CapacityLimiter(hub.settings.commit_threads))
    routes = [
        Route("/lfs/put", transfers.put, methods=["PUT"]),
        Route("/lfs/part", transfers.put_part, methods=["PUT"]),
        Route("/lfs/complete", transfers.complete, methods=["POST"]),
        Route("/lfs/get", transfers.get),
    ]
    for kind in KINDS:
        one = _Batches(hub, kind)
        prefix = "" if kind == "model" else f"/{kind}s"
        lfs = f"{prefix}/{{namespace}}/{{name}}.git/info/lfs"
        routes += [
            Route(f"{lfs}/objects/batch", with_json(one.batch, max_bytes=limit), methods=["POST"]),
            Route(f"{lfs}/verify", with_json(one.verify, max_bytes=limit), methods=["POST"]),
        ]
    return routes


class _Batches:
    def __init__(self, hub: Hub, kind: RepoKind) -> None:
        self._hub = hub
        self._kind = kind

    def batch(self, request: Request, body: Fields) -> Response:
        batch = parse_batch(body)
        if batch.operation == "download":
            repo = repo_to_read(self._hub, request, self._kind)
            answer = self._downloads(request, repo, batch)
        else:
            repo, bearer = repo_to_write(self._hub, request, self._kind)
            answer = self._uploads(request, repo, bearer, batch)
        return JSONResponse(answer, media_type=MEDIA_TYPE)

    def verify(self, request: Request, body: Fields) -> Response:
        repo = repo_to_read(self._hub, request, self._kind)
        oid = body.text("oid")
        file = self._hub.large.files_of(repo.id, [oid]).get(oid)
        if file is None or file.size_bytes != body.number("size"):
            raise LargeFileNotFound(f"there is no file {oid!r} of that size")
        return JSONResponse({}, media_type=MEDIA_TYPE)

    def _downloads(self, request: Request, repo: Repo, batch: Batch) -> Json:
        files = self._hub.large.files_of(repo.id, (each.oid for each in batch.objects))
        digest = _digest(bearer_of(self._hub, request))
        rows = []
        for each in batch.objects:
            if each.oid in files and files[each.oid].size_bytes == each.size_bytes:
                href = self._href(request, "get", repo, digest, each)
                rows.append(object_json(each, actions={"download": {"href": href}}))
            else:
                rows.append(object_json(each, missing=True))
        return {"transfer": "basic", "objects": rows, "hash_algo": "sha256"}

    def _uploads(self, request: Request, repo: Repo, bearer: Bearer, batch: Batch) -> Json:
        store = self._hub.large
        known = store.files_for(audience(bearer), (each.oid for each in batch.objects))
        store.publish(repo.id, links=known)
        missing = [each for each in batch.objects if each.oid not in known]
        transfer = self._transfer(batch, missing)
        rows = []
        for each in batch.objects:
            if each.oid in known:
                rows.append(object_json(each))  # no actions: nothing to send
                continue
            upload = self._upload(request, repo, bearer, each, transfer)
            url = request.url.path.removesuffix("/objects/batch")
            verify: Json = {"href": f"{base_url(request)}{url}/verify"}
            rows.append(object_json(each, actions={"upload": upload, "verify": verify}))
        return {"transfer": transfer, "objects": rows, "hash_algo": "sha256"}

    def _transfer(self, batch: Batch, missing: list[LfsObject]) -> str:
        if "xet" in batch.transfers:
            return "xet"
        is_long = any(each.size_bytes > self._hub.settings.lfs_part_bytes for each in missing)
        return "multipart" if is_long and "multipart" in batch.transfers else "basic"

    def _upload(
        self, request: Request, repo: Repo, bearer: Bearer, each: LfsObject, transfer: str
    ) -> Json:
        part_bytes = self._hub.settings.lfs_part_bytes
        if transfer == "xet":
            body, headers = token_reply(self._hub, request, repo, bearer, "write")
            return {"href": body["casUrl"], "header": {**headers, "X-Xet-Session-Id": new_id()}}
        if transfer == "basic" or each.size_bytes <= part_bytes:
            return {"href": self._href(request, "put", repo, bearer.digest, each)}
        upload = new_id()
        header = {"chunk_size": str(part_bytes)}
        for number in range(1, -(-each.size_bytes // part_bytes) + 1):
            header[f"{number:05}"] = self._href(
                request, "part", repo, bearer.digest, each, upload=upload, part=number
            )
        href = self._href(request, "complete", repo, bearer.digest, each, upload=upload)
        return {"href": href, "header": header}

    def _href(
        self,
        request: Request,
        what: str,
        repo: Repo,
        digest: str,
        each: LfsObject,
        **claims: str | int,
    ) -> str:
        ticket = self._hub.tickets.issue(
            f"lfs-{what}",
            expires_s=self._hub.tickets.expiry(self._hub.settings.ticket_s),
            repo=repo.id,
            bearer=digest,
            oid=each.oid,
            size=each.size_bytes,
            **claims,
        )
        return f"{base_url(request)}/lfs/{what}?ticket={ticket}"


class _Transfers:
    """Requests that carry no token: their address is the permission."""

    def __init__(self, hub: Hub, writers: CapacityLimiter) -> None:
        self._hub = hub
        self._writers = writers

    async def put(self, request: Request) -> Response:
        ticket = self._ticket(request, "lfs-put")
        session = await anyio.to_thread.run_sync(session_of, self._hub, ticket, "write")
        oid, size_bytes = ticket.text("oid"), ticket.number("size")
        with receiver(self._hub.scratch) as received:
            await receive(request, received, max_bytes=size_bytes)
            received.check(oid, size_bytes)
            await anyio.to_thread.run_sync(
                ingest, self._hub, session.repo.id, received, oid, limiter=self._writers
            )
        return Response(status_code=200)

    async def put_part(self, request: Request) -> Response:
        ticket = self._ticket(request, "lfs-part")
        await anyio.to_thread.run_sync(session_of, self._hub, ticket, "write")
        upload, number = PartedUpload.of(self._hub, ticket), ticket.number("part")
        with receiver(self._hub.scratch) as received:
            await receive(request, received, max_bytes=upload.part_bytes)
            await anyio.to_thread.run_sync(
                upload.store, self._hub, number, received, limiter=self._writers
            )
        return Response(status_code=200, headers={"ETag": f'"{received.sha256}"'})

    async def complete(self, request: Request) -> Response:
        ticket = self._ticket(request, "lfs-complete")
        body = await read_body(request, max_bytes=self._hub.settings.max_json_bytes)
        fields = Fields(parse_json(body, where="request body"), where="request body")
        await anyio.to_thread.run_sync(self._complete, ticket, fields, limiter=self._writers)
        return JSONResponse({}, media_type=MEDIA_TYPE)

    def _complete(self, ticket: Ticket, body: Fields) -> None:
        session = session_of(self._hub, ticket, "write")
        upload = PartedUpload.of(self._hub, ticket)
        tags = {part.number("partNumber"): part.text("etag") for part in body.objects("parts")}
        join_parts(self._hub, session.repo.id, upload, tags)

    def get(self, request: Request) -> Response:
        ticket = self._ticket(request, "lfs-get")
        session = session_of(self._hub, ticket, "read")
        oid = ticket.text("oid")
        file = self._hub.large.files_of(session.repo.id, [oid]).get(oid)
        if file is None:
            raise LargeFileNotFound(f"there is no file {oid!r}")
        return content_response(
            request,
            content_id=oid,
            size_bytes=file.size_bytes,
            stream=lambda span: stream_file(self._hub.large, file, span),
            headers={"Content-Type": "application/octet-stream"},
        )

    def _ticket(self, request: Request, kind: str) -> Ticket:
        return self._hub.tickets.read(request.query_params.get("ticket", ""), kind)


def _digest(bearer: Bearer | None) -> str:
    return bearer.digest if bearer is not None else ""
