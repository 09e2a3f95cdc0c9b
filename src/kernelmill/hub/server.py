"""Serve a Hub over HTTP from this process until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
from typing import TYPE_CHECKING, Final

from granian.constants import Interfaces
from granian.server.embed import Server

from kernelmill.hub.app import create_app
from kernelmill.hub.errors import ListenError
from kernelmill.hub.service.hub import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.hub.service.hub import Hub

log = logging.getLogger(__name__)

READY_TIMEOUT_S: Final = 30.0
CONNECTIONS: Final = 400
"""Open at once; others wait. A commit takes two files, and a process often may have 1024."""


def serve(hub: Hub, *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve ``hub`` at a reserved port; call ``announce`` with the address once it answers.

    Raises:
        ListenError: the server does not start.
    """
    asyncio.run(_serve(hub, host, port, announce))


def reserve_port(host: str, port: int) -> socket.socket:
    """Return a socket that holds a port for this process without listening.

    The server opens its own socket with SO_REUSEPORT, so alone it would not notice that another
    program uses the port, nor could it say which free port it got.

    Raises:
        ListenError: the address is taken or cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
        reserved = socket.socket(family)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind((host, port))
    except OSError as error:
        raise ListenError(
            f"cannot listen: {error.strerror or error}", where=f"{host}:{port}", hint=_advise(error)
        ) from error
    return reserved


def _advise(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "stop the program that uses the port, or choose --port 0 for a free one"
    if error.errno == errno.EACCES:
        return "choose a port from 1024 on"
    return "choose an address of this machine: --host 127.0.0.1"


async def _serve(hub: Hub, host: str, port: int, announce: Callable[[str], None]) -> None:
    server = Server(
        create_app(hub),
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        log_enabled=False,
        backlog=CONNECTIONS,
        backpressure=CONNECTIONS,
        websockets=False,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    serving = asyncio.create_task(server.serve())
    try:
        await _wait_until_open(host, port, serving)
        if not serving.done():
            url_host = f"[{host}]" if ":" in host else host
            announce(f"http://{url_host}:{port}")
            await asyncio.to_thread(_sweep, hub)
    finally:
        if sys.exception():
            server.stop()  # type: ignore[no-untyped-call]  # granian gives it no types
        await serving


async def _wait_until_open(host: str, port: int, serving: asyncio.Task[None]) -> None:
    """Return once connections are accepted, or the server was told to stop before that."""
    deadline = asyncio.get_running_loop().time() + READY_TIMEOUT_S
    while not serving.done():
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError as error:
            if asyncio.get_running_loop().time() > deadline:
                raise ListenError("the server did not start", where=f"{host}:{port}") from error
            await asyncio.sleep(0.02)
        else:
            writer.close()
            await writer.wait_closed()
            return


def _sweep(hub: Hub) -> None:
    try:
        sweep(hub)
    except OSError as error:
        log.warning("what interrupted writes left cannot be removed: %s", error)
