"""What the HTTP client does with redirects, proxies, open connections and certificates."""

from __future__ import annotations

import gzip
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from kernelmill.runtime.errors import AccessDenied, HubUnreachable
from kernelmill.runtime.hub import connection
from kernelmill.runtime.hub.connection import close_connections
from kernelmill.runtime.hub.identity import headers_of
from kernelmill.runtime.hub.remote import RemoteHub
from kernelmill.runtime.hub.wire import Wire
from kernelmill.spec.errors import HubError, InputError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TOY = RepoId.parse("acme/toy")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in (*PROXIES, *map(str.lower, PROXIES), *connection.CERTIFICATE_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    yield
    close_connections()


class Server:
    """A server that notes who asks, and answers with what ``answer`` gives for a path."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[str, str | None]] = []
        """Path and token of each request."""
        self.peers: list[int] = []
        """The port from which each came: one for each connection."""


Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def serving(answer: Callable[[str, Server], Answer], keep: bool = True) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1" if keep else "HTTP/1.0"

        def do_GET(self) -> None:
            server.asked.append((self.path, self.headers["Authorization"]))
            server.peers.append(self.client_address[1])
            status, headers, body = answer(self.path, server)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        server = Server(f"http://127.0.0.1:{http.server_port}")
        try:
            yield server
        finally:
            close_connections()
            http.shutdown()


def received(url: str) -> bytes:
    """Fetch ``file`` as a download does."""
    parts: list[bytes] = []
    Wire(url, None).fetch("file", lambda reply: parts.extend(reply.stream(1000)))
    return b"".join(parts)


def test_redirect_to_another_server_does_not_get_the_token() -> None:
    with serving(lambda *_: (200, {}, b"content")) as other:
        target = {"Location": f"{other.url}/blob"}
        with serving(lambda *_: (302, target, b"moved")) as hub:
            assert received(hub.url) == b"content"
            assert received(hub.url) == b"content"
        assert hub.asked == [("/file", "Bearer hf_secret")] * 2
        assert other.asked == [("/blob", None)] * 2
        assert len(set(hub.peers)) == len(set(other.peers)) == 1


def test_redirect_within_a_server_keeps_the_token() -> None:
    moved: Answer = (307, {"Location": "/two words"}, b"")
    with serving(lambda path, _: moved if path == "/file" else (200, {}, b"here")) as hub:
        assert received(hub.url) == b"here"
    assert hub.asked[1] == ("/two%20words", "Bearer hf_secret")


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://a/b", "http://a:b/"])
def test_redirect_that_is_no_address_is_refused(target: str) -> None:
    with (
        serving(lambda *_: (302, {"Location": target}, b"")) as hub,
        pytest.raises(HubError, match="the Hub leads on to"),
    ):
        received(hub.url)


def test_redirect_from_tls_to_plain_text_is_refused() -> None:
    with pytest.raises(HubError, match="the Hub leads on to 'http://a/b'"):
        connection._follow("https://hub/x", "http://a/b")


def test_redirects_end() -> None:
    with (
        serving(lambda *_: (302, {"Location": "/file"}, b"")) as hub,
        pytest.raises(HubError, match="the Hub leads on more than 10 times"),
    ):
        received(hub.url)
    assert len(hub.asked) == 11


def test_next_page_on_another_server_does_not_get_the_token() -> None:
    with serving(lambda *_: (200, {}, b"[]")) as other:
        link = {"Link": f'<{other.url}/more>; rel="next"'}
        with serving(lambda *_: (200, link, b"[]")) as hub:
            RemoteHub(hub.url).fetch_files(TOY, "0" * 40, "build")
    assert other.asked == [("/more", None)]


def test_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda *_: (200, {}, b"by proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//me:p%40ss@"))
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//me:p%40ss@"))
        assert received("http://hub.invalid:81") == b"by proxy"
        assert proxy.asked == [("http://hub.invalid:81/file", "Bearer hf_secret")]
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with serving(lambda *_: (200, {}, b"directly")) as hub:
            assert received(hub.url) == b"directly"
    assert len(proxy.asked) == 1


def test_proxy_of_another_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(InputError, match="reached over 'socks5', which is not supported"):
        received("http://hub.invalid")


def test_connection_that_the_server_has_closed_is_made_anew() -> None:
    closing: Answer = (200, {}, b"x")
    with serving(lambda *_: closing) as hub:
        assert received(hub.url) == b"x"
        (idle,) = (each for each in connection._idle.values() if each)
        idle[0].sock.close()  # as good as closed by the other side
        assert received(hub.url) == b"x"
    assert len(set(hub.peers)) == 2


def test_download_that_ends_early_is_no_file(tmp_path: Path) -> None:
    with (
        serving(lambda *_: (200, {"Content-Length": "9"}, b"half"), keep=False) as hub,
        pytest.raises(ConnectionError, match="the connection ended 5 bytes too early"),
    ):
        received(hub.url)


def test_listing_is_asked_again_when_the_hub_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("kernelmill.runtime.hub.wire.time.sleep", slept.append)

    def answer(_: str, server: Server) -> Answer:
        return (200, {}, b"[]") if len(server.asked) > 2 else (503, {"Retry-After": "4"}, b"busy")

    with serving(answer) as hub:
        assert RemoteHub(hub.url).fetch_files(TOY, "0" * 40, "build") == ()
    assert slept == [5, 5]


@pytest.mark.parametrize("body", [b"plain", b'{"error": "because"}'])
def test_hub_that_fails_is_quoted(body: bytes) -> None:
    with (
        serving(lambda *_: (500, {}, body)) as hub,
        pytest.raises(HubUnreachable, match=r"the Hub failed: (plain|because) \(HTTP 500\)"),
    ):
        RemoteHub(hub.url).fetch_refs(TOY)


def test_packed_answers_are_unpacked() -> None:
    page = gzip.compress(b'{"branches": [], "tags": []}')
    for packing in ("gzip", "br"):
        with serving(lambda *_, it=packing: (200, {"Content-Encoding": it}, page)) as hub:
            if packing == "gzip":
                assert RemoteHub(hub.url).fetch_refs(TOY).branches == {}
                continue
            with pytest.raises(HubError, match="content is packed as 'br'"):
                RemoteHub(hub.url).fetch_refs(TOY)


def test_certificates_that_are_none_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "missing.pem"))
    with pytest.raises(InputError, match=r"missing\.pem' holds no certificates") as caught:
        received("https://127.0.0.1:1")
    assert caught.value.where == "REQUESTS_CA_BUNDLE"


def test_token_is_read_where_it_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def token(given: str | bool | None = None) -> str | None:
        return headers_of(None, given).get("Authorization")

    assert token() == "Bearer hf_secret"
    assert token("hf_own") == "Bearer hf_own"
    assert token(False) is None
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    assert token() is None
    assert token(True) == "Bearer hf_secret"
    monkeypatch.delenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")
    monkeypatch.delenv("HF_TOKEN")
    assert token() is None
    with pytest.raises(AccessDenied, match="there is no token"):
        token(True)
    (tmp_path / "token").write_text("hf_file\n")
    assert token() == "Bearer hf_file"
    monkeypatch.setenv("HF_TOKEN", "hf_\u00e4")
    with pytest.raises(InputError, match="the token holds characters that no token has"):
        token()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_shares_no_connection_with_its_parent() -> None:
    with serving(lambda *_: (200, {}, b"x")) as hub:
        assert received(hub.url) == b"x"
        with connection._guard:  # as another thread may hold it
            child = os.fork()
            if not child:
                os._exit(0 if received(hub.url) == b"x" else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert received(hub.url) == b"x"
    assert len(set(hub.peers)) == 2
    assert hub.peers[0] == hub.peers[2]
