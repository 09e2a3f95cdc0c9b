"""HTTP connections, kept open between requests: proxies, certificates and redirects are here.

All requests are GETs. What proxies and certificates there are, the environment says, in the
variables that other programs obey too. This is the standard library's client, which PyTorch has
imported already: the import of another takes as long as all requests of a first load.
"""

from __future__ import annotations

import atexit
import http.client
import io
import os
import ssl
import threading
import zlib
from base64 import b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from kernelmill.runtime.hub.guard import (
    READ_BYTES,
    allowed_silence,
    check_headers,
    ensure_in_time,
)
from kernelmill.spec.errors import HubError, InputError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Mapping

    from _typeshed import WriteableBuffer

    from kernelmill.runtime.hub.guard import Headers

MAX_IDLE: Final = 8
"""Most connections that are kept open to one place: as many as there are downloads at a time."""
MAX_REDIRECTS: Final = 10
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PORTS: Final = {"http": 80, "https": 443}
CERTIFICATE_VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
"""Whose file or folder of certificates is used; the first that is set."""
GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
URL_CHARS: Final = "%/:=&?~#+!$,;'@()*[]"
"""What is left alone in an address that a Hub gives; all else that is no letter is escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What a connection leads to, and how."""

    scheme: str
    host: str
    port: int
    proxy: str
    certificates: str
    """A file or folder; empty for the system's."""


_idle: dict[_Place, list[http.client.HTTPConnection]] = {}
_contexts: dict[str, ssl.SSLContext] = {}
_guard = threading.Lock()


def _start_over() -> None:
    """Share no socket with the parent, and wait for no thread that only the parent has."""
    global _guard  # noqa: PLW0603 - a lock cannot be reset
    _guard = threading.Lock()
    _idle.clear()


def close_connections() -> None:
    """Close the connections that nobody uses."""
    with _guard:
        for connection in (each for idle in _idle.values() for each in idle):
            connection.close()
        _idle.clear()


atexit.register(close_connections)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_over)


class _Arriving(io.RawIOBase):
    """What comes through a socket. Each part is within the time limit, however small it is."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        ensure_in_time()
        return self._raw.readinto(buffer)

    def readall(self) -> bytes:
        # All is never asked for: it is what becomes of a part whose length is -1.
        raise ConnectionError("a part of the reply has no length")

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A reply whose headers, too, take no longer than the time limit allows."""

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None) -> None:
        super().__init__(sock, debuglevel, method)
        self.fp = io.BufferedReader(_Arriving(self.fp.detach()))


class Reply:
    """A reply whose content is yet to be read."""

    def __init__(self, reply: http.client.HTTPResponse) -> None:
        self._reply = reply
        self.status = reply.status
        self.headers: Headers = reply.headers

    @property
    def is_read(self) -> bool:
        """Whether nothing of it is in the way of the next reply."""
        return self._reply.isclosed() and not self._reply.will_close

    def close(self) -> None:
        """Read no more."""
        self._reply.close()

    def stream(self, chunk_bytes: int) -> Iterator[bytes]:
        """Give the content as it arrives, unpacked.

        Raises:
            ConnectionError: it ends too early, or stops.
            ValueError: it is packed in another way, or not at all.
        """
        packing = (self.headers.get("Content-Encoding") or "identity").lower()
        if packing == "identity":
            yield from self._raw(chunk_bytes)
            return
        if packing not in {"gzip", "x-gzip", "deflate"}:
            raise ValueError(f"content is packed as {packing!r:.40}")
        unpacker, is_empty = zlib.decompressobj(GZIP_OR_ZLIB), True
        for packed in self._raw(chunk_bytes):
            rest, is_empty = packed, False
            while rest:
                try:
                    yield unpacker.decompress(rest, chunk_bytes)
                except zlib.error as error:
                    raise ValueError(f"content is not packed as {packing}") from error
                rest = unpacker.unconsumed_tail
        yield unpacker.flush()
        if not (is_empty or unpacker.eof):
            raise ConnectionError("the packed content ended too early")

    def skim(self) -> None:
        """Read the few words of a redirect, after which the connection is used again."""
        next(self._raw(READ_BYTES), b"")

    def _raw(self, chunk_bytes: int) -> Iterator[bytes]:
        while True:
            with _network():
                chunk = self._reply.read(chunk_bytes)
            if not chunk:
                break
            yield chunk
        if self._reply.length:
            raise ConnectionError(f"the connection ended {self._reply.length} bytes too early")


@contextmanager
def get(url: str, headers: Mapping[str, str], *, timeout_s: float | None = None) -> Iterator[Reply]:
    """Give the reply to a request, after redirects; its content is yet to be read.

    Args:
        url: what to get.
        headers: of the request. ``Authorization`` is for the host of ``url`` alone.
        timeout_s: how long to wait for a sign of life, unless a ``time_limit`` says so.

    Raises:
        HubError: the redirects lead nowhere.
        TimeoutError: there is no time left for it.
        ConnectionError: no reply came, or only a part of it.
    """
    home, sent = _origin(url), dict(headers)
    for _ in range(MAX_REDIRECTS + 1):
        with _reply(url, sent, timeout_s) as reply:
            check_headers(reply.status, reply.headers)
            target = reply.headers.get("Location")
            if reply.status not in REDIRECTS or not target:
                yield reply
                return
            reply.skim()
        url = _follow(url, target)
        if _origin(url) != home:
            sent.pop("Authorization", None)
    raise HubError(
        f"the Hub leads on more than {MAX_REDIRECTS} times",
        where=f"{url:.200}",
        hint="do not trust this Hub",
    )


def is_same_origin(url: str, other: str) -> bool:
    """Tell whether two addresses are those of one server."""
    return _origin(url) == _origin(other)


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or PORTS.get(parts.scheme, 0)


def _follow(url: str, target: str) -> str:
    """Return where a redirect leads.

    Raises:
        HubError: it is no place for a request, or one that others can listen to.
    """
    found = quote(target.encode("latin-1", "replace"), safe=URL_CHARS)
    schemes = {"https"} if url.startswith("https:") else {"http", "https"}
    try:
        found = urljoin(url, found)
        is_usable = urlsplit(found).scheme in schemes and bool(_origin(found)[1])
    except ValueError:  # a port or a host that is none
        is_usable = False
    if not is_usable:
        raise HubError(
            f"the Hub leads on to {found[:200]!r}", where=url, hint="do not trust this Hub"
        )
    return found


@contextmanager
def _network() -> Iterator[None]:
    """Tell what goes wrong with a connection from all else that is an OSError."""
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError) as error:
        # A ValueError: no host can have such a name, or no part of a reply such a length.
        raise ConnectionError(str(error) or type(error).__name__) from error


@contextmanager
def _reply(url: str, headers: Mapping[str, str], timeout_s: float | None) -> Iterator[Reply]:
    place = _place_of(url)
    connection, reply = _send(place, url, headers, allowed_silence() or timeout_s)
    try:
        yield reply
    finally:
        with _guard:
            idle = _idle.setdefault(place, [])
            is_kept = reply.is_read and len(idle) < MAX_IDLE
            if is_kept:
                idle.append(connection)
        if not is_kept:
            reply.close()
            connection.close()


def _send(
    place: _Place, url: str, headers: Mapping[str, str], silence_s: float | None
) -> tuple[http.client.HTTPConnection, Reply]:
    """Send a request; again where the other side had meanwhile closed an open connection."""
    parts = urlsplit(url)
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    sent = dict(headers)
    if place.proxy and place.scheme == "http":
        target = f"http://{parts.netloc.rpartition('@')[2]}{target}"
        sent |= _proxy_login(place.proxy)
    while True:
        with _guard:
            idle = _idle.get(place)
            connection = idle.pop() if idle else None
        is_new = connection is None
        connection = connection or _open(place)
        connection.timeout = silence_s
        try:
            with _network():
                if connection.sock:
                    connection.sock.settimeout(silence_s)
                connection.request("GET", target, headers=sent)
                return connection, Reply(connection.getresponse())
        except ConnectionError as error:
            connection.close()
            if is_new or isinstance(error.__cause__, TimeoutError):
                raise
        except BaseException:
            connection.close()
            raise


def _open(place: _Place) -> http.client.HTTPConnection:
    """Return a connection that is made when it is first used."""
    proxy = urlsplit(place.proxy)
    host, port = place.host, place.port
    if place.proxy:
        host, port = proxy.hostname or "", proxy.port or PORTS["http"]
    if place.scheme == "http":
        return _watched(http.client.HTTPConnection(host, port))
    tls = _tls(place.certificates)
    connection = _watched(http.client.HTTPSConnection(host, port, context=tls))
    if place.proxy:
        connection.set_tunnel(place.host, place.port, headers=_proxy_login(place.proxy))
    return connection


def _watched(connection: http.client.HTTPConnection) -> http.client.HTTPConnection:
    connection.response_class = _Response
    return connection


def _proxy_login(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(login.encode()).decode()}"}


def _place_of(url: str) -> _Place:
    scheme, host, port = _origin(url)
    variable = next(filter(os.environ.get, CERTIFICATE_VARIABLES), "")
    return _Place(
        scheme=scheme,
        host=host,
        port=port,
        proxy=_proxy_of(scheme, urlsplit(url).netloc.rpartition("@")[2]),
        certificates=os.environ.get(variable, "") if scheme == "https" else "",
    )


def _proxy_of(scheme: str, netloc: str) -> str:
    """Return the proxy that the environment has for a place; empty for none."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    if not proxy or proxy_bypass(netloc):
        return ""
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if fault := _fault_of_proxy(proxy):
        raise InputError(
            f"the proxy {fault}",
            where=f"{scheme.upper()}_PROXY",
            hint="name a proxy as http://HOST:PORT",
        )
    return proxy


def _fault_of_proxy(proxy: str) -> str:
    """Return why a proxy cannot be used; empty when it can. Its login is not repeated."""
    try:
        parts = urlsplit(proxy)
    except ValueError:  # an address that is none
        return "has no host"
    if parts.scheme != "http":
        return f"is reached over {parts.scheme!r}, which is not supported"
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        return "has a port that is not a number from 1 to 65535"
    return "" if parts.hostname else "has no host"


def _tls(certificates: str) -> ssl.SSLContext:
    """Return how to speak TLS: with the system's certificates, unless the environment has some."""
    with _guard:
        if certificates not in _contexts:
            _contexts[certificates] = _own_tls(certificates) if certificates else _system_tls()
        return _contexts[certificates]


def _system_tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    folder = ssl.get_default_verify_paths().capath
    if not context.cert_store_stats()["x509_ca"] and not (folder and any(Path(folder).iterdir())):
        try:
            import certifi  # noqa: PLC0415 - where the system has none
        except ImportError:
            return context
        context.load_verify_locations(certifi.where())
    return context


def _own_tls(certificates: str) -> ssl.SSLContext:
    is_folder = os.path.isdir(certificates)  # noqa: PTH112 - a variable's own text
    try:
        return ssl.create_default_context(
            cafile=None if is_folder else certificates, capath=certificates if is_folder else None
        )
    except OSError as error:  # ssl's own errors are OSErrors, too
        variable = next(filter(os.environ.get, CERTIFICATE_VARIABLES), "SSL_CERT_FILE")
        raise InputError(
            f"{certificates!r} holds no certificates ({error.strerror or error})",
            where=variable,
            hint=f"correct or unset {variable}",
        ) from None
