"""The web application, wired by hand: every route, every error, every layer is listed here."""

from __future__ import annotations

import logging
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import OperationalError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect

from kernelmill.hub.errors import Refusal
from kernelmill.hub.routes.cas import cas_routes
from kernelmill.hub.routes.commit import commit_routes
from kernelmill.hub.routes.fallback import fallback_routes
from kernelmill.hub.routes.git import git_routes
from kernelmill.hub.routes.lfs import lfs_routes
from kernelmill.hub.routes.nix import nix_routes
from kernelmill.hub.routes.refs import ref_routes
from kernelmill.hub.routes.repos import repo_routes
from kernelmill.hub.routes.resolve import resolve_routes
from kernelmill.hub.routes.tree import tree_routes
from kernelmill.hub.routes.users import user_routes
from kernelmill.hub.routes.xet import xet_routes
from kernelmill.hub.wire.errors import (
    busy_response,
    crash_response,
    gone_response,
    http_error_response,
    refusal_response,
    storage_response,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from kernelmill.hub.service.hub import Hub

log = logging.getLogger(__name__)


def create_app(hub: Hub) -> Starlette:
    """Return the application that serves ``hub``."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            hub.close()

    return Starlette(
        routes=[
            *resolve_routes(hub),  # first because most requests are downloads
            *user_routes(hub),
            *repo_routes(hub),
            *tree_routes(hub),
            *commit_routes(hub),
            *ref_routes(hub),
            *nix_routes(hub),
            *xet_routes(hub),
            *cas_routes(hub),
            *lfs_routes(hub),
            *git_routes(hub),
            *fallback_routes(hub),
        ],
        middleware=[Middleware(RawPath), Middleware(RequestLog)],
        exception_handlers={
            Refusal: refusal_response,
            HTTPException: http_error_response,
            OperationalError: busy_response,
            OSError: storage_response,
            ClientDisconnect: gone_response,
            Exception: crash_response,
        },
        lifespan=lifespan,
    )


class RawPath:
    """Route on the path as it was sent: ``refs%2Fpr%2F1`` is one part, not three."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application below."""
        if scope["type"] == "http":
            raw: bytes = scope["raw_path"]
            scope = {**scope, "path": raw.partition(b"?")[0].decode("latin-1")}
        await self._app(scope, receive, send)


class RequestLog:
    """Log each request with its status and duration."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application below."""
        if scope["type"] != "http" or not log.isEnabledFor(logging.DEBUG):
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()

        async def send_and_log(message: Message) -> None:
            if message["type"] == "http.response.start":
                duration_ms = 1000 * (time.perf_counter() - start)
                status = message["status"]
                log.debug("%s %s %d %.1f ms", scope["method"], scope["path"], status, duration_ms)
            await send(message)

        await self._app(scope, receive, send_and_log)
