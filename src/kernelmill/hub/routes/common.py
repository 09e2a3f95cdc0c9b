"""What every endpoint needs: who asks, for which repository, with which body."""

from __future__ import annotations

import mmap
import tempfile
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlencode

import anyio
from starlette.concurrency import run_in_threadpool

from kernelmill.hub.auth import identify
from kernelmill.hub.errors import InvalidRequest, TooLarge, TooSlow
from kernelmill.hub.service.access import open_repo, open_repo_for_writing
from kernelmill.hub.wire.fields import Fields, parse_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.store.repos import Repo

BODY_GRACE_S: Final = 30.0
BODY_BYTES_PER_S: Final = 4096
KINDS: Final[tuple[RepoKind, ...]] = ("model", "kernel")


def path_text(request: Request, name: str) -> str:
    """Return a part of the request's path, percent-decoded.

    Routes match the raw path, so an encoded slash stays inside its part until here.
    """
    try:
        return unquote(str(request.path_params[name]), errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the path's {name!r} is not UTF-8") from error


def repo_name(request: Request) -> str:
    """Return the full name of the repository that the path names."""
    return f"{path_text(request, 'namespace')}/{path_text(request, 'name')}"


def bearer_of(hub: Hub, request: Request) -> Bearer | None:
    """Return who asks."""
    return identify(hub.database, request.headers.get("authorization"))


def repo_to_read(hub: Hub, request: Request, kind: RepoKind) -> Repo:
    """Return the repository that the path names, if the asker may read it."""
    return open_repo(hub, bearer_of(hub, request), kind, repo_name(request))


def repo_to_write(hub: Hub, request: Request, kind: RepoKind) -> tuple[Repo, Bearer]:
    """Return the repository that the path names and the asker, who may write to it."""
    return open_repo_for_writing(hub, bearer_of(hub, request), kind, repo_name(request))


def query_number(request: Request, name: str, *, default: int, most: int) -> int:
    """Return a whole number of the query, between 0 and ``most``."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise InvalidRequest(f"{name!r} must be a whole number")
    return min(int(text), most)


def is_set(request: Request, name: str) -> bool:
    """Say whether a flag of the query is true."""
    return request.query_params.get(name, "").lower() in {"1", "true"}


def refuse_pull_request(request: Request) -> None:
    """Stop here when a request wants a pull request."""
    if is_set(request, "create_pr"):
        raise InvalidRequest("this Hub has no pull requests yet: commit to a branch")


def next_link(request: Request, path: str, **changes: str) -> dict[str, str]:
    """Return the header that leads to the next page: this request, ``changes`` in its query."""
    query = [(k, v) for k, v in request.query_params.multi_items() if k not in changes]
    url = f"{base_url(request)}{path}?{urlencode([*query, *changes.items()])}"
    return {"Link": f'<{url}>; rel="next"'}


def base_url(request: Request) -> str:
    """Return this Hub's address as the client knows it."""
    return str(request.base_url).rstrip("/")


def with_json(
    run: Callable[[Request, Fields], Response], *, max_bytes: int
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that reads a JSON object and runs ``run`` with it in a thread."""

    async def endpoint(request: Request) -> Response:
        body = await read_body(request, max_bytes=max_bytes)
        fields = Fields(parse_json(body or b"{}", where="request body"), where="request body")
        return await run_in_threadpool(run, request, fields)

    return endpoint


async def read_body(request: Request, *, max_bytes: int) -> bytes:
    """Return the request's whole body.

    Raises:
        TooLarge: it is longer than ``max_bytes``.
    """
    check_length(request, max_bytes)
    body = bytearray()
    async for chunk in body_pieces(request):
        body += chunk
        if len(body) > max_bytes:
            raise too_large(max_bytes)
    return bytes(body)


async def body_pieces(request: Request, *, grace_s: float = BODY_GRACE_S) -> AsyncIterator[bytes]:
    """Yield a request's body as it arrives.

    Raises:
        TooSlow: after ``grace_s`` it has come more slowly than ``BODY_BYTES_PER_S`` on average:
            each request holds one of the server's connections, which are few.
    """
    deadline = anyio.current_time() + grace_s
    pieces = request.stream()
    while True:
        try:
            with anyio.fail_after(max(deadline - anyio.current_time(), 0)):
                piece = await anext(pieces, None)
        except TimeoutError as error:
            raise TooSlow("the request's body arrives too slowly") from error
        if piece is None:
            return
        deadline += len(piece) / BODY_BYTES_PER_S
        yield piece


@asynccontextmanager
async def spooled_body(
    request: Request, *, folder: Path, max_bytes: int, memory_bytes: int
) -> AsyncIterator[bytes | mmap.mmap]:
    """Receive the request's body, on disk when it is larger than ``memory_bytes``.

    Raises:
        TooLarge: it is longer than ``max_bytes``.
    """
    check_length(request, max_bytes)
    total, pending = 0, bytearray()
    with tempfile.TemporaryFile(dir=folder) as file:
        async for chunk in body_pieces(request):
            total += len(chunk)
            if total > max_bytes:
                raise too_large(max_bytes)
            pending += chunk
            if len(pending) > memory_bytes:
                await run_in_threadpool(file.write, bytes(pending))
                pending.clear()
        if total == len(pending):
            yield bytes(pending)
            return
        await run_in_threadpool(file.write, bytes(pending))
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            yield view


async def received_pieces(
    request: Request, *, max_bytes: int, at_least: int
) -> AsyncIterator[bytes]:
    """Yield a request's body in pieces of ``at_least`` so many bytes; the last may be smaller.

    Raises:
        TooLarge: it is longer than ``max_bytes``.
    """
    total, pending = 0, bytearray()
    async for chunk in body_pieces(request):
        total += len(chunk)
        if total > max_bytes:
            raise too_large(max_bytes)
        pending += chunk
        if len(pending) >= at_least:
            yield bytes(pending)
            pending.clear()
    yield bytes(pending)


def check_length(request: Request, max_bytes: int) -> None:
    """Refuse a body by what its header says of its length, before any of it is read."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > max_bytes:
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> TooLarge:
    """Return the refusal of a body that exceeds a limit."""
    return TooLarge(f"the request is larger than this Hub's limit of {max_bytes} bytes")


def kind_of(text: str) -> RepoKind:
    """Return the kind of repository that a body names.

    Raises:
        InvalidRequest: this Hub has no such kind.
    """
    if text not in KINDS:
        raise InvalidRequest(f"this Hub has no repositories of type {text!r}: 'model' or 'kernel'")
    return text
