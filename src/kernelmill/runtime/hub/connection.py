"""HTTP connections, kept open between requests: proxies, certificates and redirects are here.

All requests are GETs. What proxies and certificates there are, the environment says, in the
variables that other programs obey too.
"""

from __future__ import annotations

import os
import ssl
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from kernelmill.runtime.hub.guard import READ_BYTES, allowed_silence, check_headers
from kernelmill.spec.errors import HubError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Reply = urllib3.BaseHTTPResponse

CONNECTIONS: Final = 8
"""Most that are kept open to one host: as many as there are downloads at a time."""
MAX_REDIRECTS: Final = 10
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PORTS: Final = {"http": 80, "https": 443}
CERTIFICATE_VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
"""Whose file or folder of certificates is used; the first that is set."""

_pools: dict[tuple[str, str, str], urllib3.PoolManager] = {}
_pools_guard = threading.Lock()


def _start_over() -> None:
    """Share no socket with the parent, and wait for no thread that only the parent has."""
    global _pools_guard  # noqa: PLW0603 - a lock cannot be reset
    _pools_guard = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_over)


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
    try:
        for _ in range(MAX_REDIRECTS + 1):
            with _reply(url, sent, timeout_s) as reply:
                check_headers(reply.status, reply.headers)
                target = reply.headers.get("Location")
                if reply.status not in REDIRECTS or not target:
                    yield reply
                    return
                reply.read(READ_BYTES)  # its few words, so that the connection can be used again
            url = _follow(url, target)
            if _origin(url) != home:
                sent.pop("Authorization", None)
    except urllib3.exceptions.HTTPError as error:
        raise ConnectionError(_root_cause(error)) from error
    raise HubError(
        f"the Hub leads on more than {MAX_REDIRECTS} times",
        where=f"{url:.200}",
        hint="do not trust this Hub",
    )


@contextmanager
def _reply(url: str, headers: Mapping[str, str], timeout_s: float | None) -> Iterator[Reply]:
    reply = _send(url, headers, timeout_s)
    try:
        yield reply
    finally:
        if not reply.closed:  # what was not read is in the way of the next reply
            reply.close()
        reply.release_conn()


def _root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _send(url: str, headers: Mapping[str, str], timeout_s: float | None) -> Reply:
    """Send one request; once more where the other side had just closed a connection."""
    proxy = _proxy_of(url)
    pool = _pool(urlsplit(url).scheme, proxy)

    def send() -> Reply:
        silence_s = allowed_silence() or timeout_s
        return pool.request(
            "GET",
            url,
            headers=dict(headers),
            timeout=urllib3.Timeout(connect=silence_s, read=silence_s),
            redirect=False,
            retries=False,
            preload_content=False,
        )

    try:
        return send()
    except urllib3.exceptions.ProtocolError:
        return send()


def _follow(url: str, target: str) -> str:
    """Return where a redirect leads.

    Raises:
        HubError: it is no place for a request, or one that others can listen to.
    """
    found = urljoin(url, target)
    schemes = {"https"} if url.startswith("https:") else {"http", "https"}
    if urlsplit(found).scheme not in schemes or not urlsplit(found).hostname:
        raise HubError(
            f"the Hub leads on to {found[:200]!r}", where=url, hint="do not trust this Hub"
        )
    return found


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or PORTS.get(parts.scheme, 0)


def is_same_origin(url: str, other: str) -> bool:
    """Tell whether two addresses are those of one server."""
    return _origin(url) == _origin(other)


def _proxy_of(url: str) -> str:
    """Return the proxy that the environment has for an address; empty for none."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _pool(scheme: str, proxy: str) -> urllib3.PoolManager:
    """Return the connections of a kind; made for the first request of it."""
    is_tls = scheme == "https" or proxy.startswith("https:")
    variable = next(filter(os.environ.get, CERTIFICATE_VARIABLES), "") if is_tls else ""
    certificates = os.environ.get(variable, "")
    key = (scheme, proxy, certificates)
    with _pools_guard:
        if key not in _pools:
            context = _tls(variable, certificates) if is_tls else None
            _pools[key] = _make_pool(proxy, context)
        return _pools[key]


def _make_pool(proxy: str, context: ssl.SSLContext | None) -> urllib3.PoolManager:
    if not proxy:
        return urllib3.PoolManager(maxsize=CONNECTIONS, ssl_context=context)
    parts = urlsplit(proxy)
    if parts.scheme.startswith("socks"):
        from urllib3.contrib.socks import SOCKSProxyManager  # noqa: PLC0415 - needs PySocks

        return SOCKSProxyManager(proxy, maxsize=CONNECTIONS, ssl_context=context)
    login = f"{parts.username or ''}:{parts.password or ''}" if parts.username else None
    return urllib3.ProxyManager(
        proxy,
        maxsize=CONNECTIONS,
        ssl_context=context,
        proxy_ssl_context=context,
        proxy_headers=urllib3.make_headers(proxy_basic_auth=login) if login else None,
    )


def _tls(variable: str, certificates: str) -> ssl.SSLContext:
    """Return how to speak TLS: with the system's certificates, unless the environment has some."""
    if not certificates:
        context = ssl.create_default_context()
        folder = ssl.get_default_verify_paths().capath
        if not context.cert_store_stats()["x509_ca"] and not (folder and any(os.scandir(folder))):
            import certifi  # noqa: PLC0415 - where the system has none

            context.load_verify_locations(certifi.where())
        return context
    try:
        is_folder = os.path.isdir(certificates)  # noqa: PTH112 - the variable's own text
        return ssl.create_default_context(
            cafile=None if is_folder else certificates, capath=certificates if is_folder else None
        )
    except OSError as error:  # ssl's own errors are OSErrors, too
        raise InputError(
            f"{certificates!r} holds no certificates ({error.strerror or error})",
            where=variable,
            hint=f"correct or unset {variable}",
        ) from error
