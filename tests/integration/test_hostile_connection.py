"""Replies that lie, replies that never end, odd proxies; and TLS, also through a CONNECT proxy."""

from __future__ import annotations

import datetime as dt
import gzip
import ipaddress
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kernelmill.runtime.hub import connection, guard
from kernelmill.runtime.hub.connection import close_connections
from kernelmill.runtime.hub.identity import headers_of
from kernelmill.spec.errors import HubError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (*PROXIES, *map(str.lower, PROXIES), *connection.CERTIFICATE_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    yield
    close_connections()


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Give the port of a server that calls ``serve`` with each connection, in a thread."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=run, args=(peer,), daemon=True).start()

    def run(peer: socket.socket) -> None:
        with peer:
            try:
                serve(peer)
            except OSError:  # the other side had enough
                return

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()


def read_request(peer: socket.socket) -> bytes:
    said = b""
    while b"\r\n\r\n" not in said and (part := peer.recv(4096)):
        said += part
    return said


def saying(reply: bytes) -> Callable[[socket.socket], None]:
    def serve(peer: socket.socket) -> None:
        if read_request(peer):
            peer.sendall(reply)

    return serve


def trickling(head: bytes, again: bytes) -> Callable[[socket.socket], None]:
    """Give signs of life for ever."""

    def serve(peer: socket.socket) -> None:
        if read_request(peer):
            peer.sendall(head)
            while True:
                peer.sendall(again)
                time.sleep(0.02)

    return serve


def fetch(url: str) -> bytes:
    with connection.get(url, {}, timeout_s=5) as reply:
        return guard.read_answer(reply.stream(1 << 16))


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("http://[", id="no host"),
        pytest.param("http://x:99999/", id="no port"),
        pytest.param("file:///etc/passwd", id="a file"),
        pytest.param("http://" + "[" * 5, id="brackets"),
    ],
)
def test_redirect_to_no_place_is_refused(target: str) -> None:
    reply = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()
    with listening(saying(reply)) as port, pytest.raises(HubError, match="leads on to"):
        fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize("host", ["a..b", "a" * 70 + ".example"])
def test_host_that_nothing_can_be_called_does_not_answer(host: str) -> None:
    with pytest.raises(ConnectionError, match="label empty or too long"):
        fetch(f"http://{host}/")


def test_redirect_may_be_packed_in_any_way() -> None:
    def serve(peer: socket.socket) -> None:
        while said := read_request(peer):
            moved = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Encoding: br\r\n"
            there = OK + b"Content-Length: 2\r\n\r\nhi"
            peer.sendall(there if b"/there" in said else moved + b"Content-Length: 1\r\n\r\nx")

    with listening(serve) as port:
        assert fetch(f"http://127.0.0.1:{port}/") == b"hi"


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        pytest.param(CHUNKED + b"-1\r\n" + b"x" * 100, "has no length", id="chunk of -1"),
        pytest.param(CHUNKED + b"-5\r\n" + b"x" * 100, "non-negative", id="chunk of -5"),
        pytest.param(CHUNKED + b"zz\r\nx", "IncompleteRead", id="chunk of zz"),
        pytest.param(CHUNKED + b"ffffffff\r\nx", "IncompleteRead|too early", id="chunk too large"),
        pytest.param(CHUNKED + b"5\r\nabc", "IncompleteRead", id="chunk too short"),
        pytest.param(OK + b"X: " + b"y" * 70000, "too long|header", id="header too large"),
        pytest.param(OK + b"X: y\r\n" * 200 + b"\r\n", "100 headers", id="many headers"),
        pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", "2000", id="no status"),
        pytest.param(b"SSH-2.0-x\r\n", "SSH-2.0", id="no HTTP"),
        pytest.param(OK + b"Content-Length: 9\r\n\r\nabc", "6 bytes too early", id="short"),
    ],
)
def test_lies_about_the_length_are_no_answer(reply: bytes, problem: str) -> None:
    with listening(saying(reply)) as port, pytest.raises(ConnectionError, match=problem):
        fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize("kept", [10, -4], ids=["its beginning", "all but its end"])
def test_packed_answer_that_is_cut_off_is_no_answer(kept: int) -> None:
    packed = gzip.compress(b"[" + b"1," * 1000)[:kept]
    head = OK + f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    with (
        listening(saying(head + packed)) as port,
        pytest.raises(ConnectionError, match="the packed content ended too early"),
    ):
        fetch(f"http://127.0.0.1:{port}/")


def test_packed_answer_is_whole_in_pieces_of_any_size() -> None:
    content = b"kernel " * 5000
    packed = gzip.compress(content)
    head = OK + f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    with listening(saying(head + packed)) as port:
        for size in (1, 7, 255, 35000):
            with connection.get(f"http://127.0.0.1:{port}/", {}) as reply:
                assert b"".join(reply.stream(size)) == content


def test_empty_answer_may_be_called_packed() -> None:
    with listening(saying(OK + b"Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n")) as port:
        assert fetch(f"http://127.0.0.1:{port}/") == b""


@pytest.mark.parametrize(
    ("head", "again"),
    [
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", id="100 Continue"),
        pytest.param(OK + b"X: ", b"y", id="a header"),
        pytest.param(OK + b"Content-Length: 60000\r\n\r\n", b"x", id="a body"),
        pytest.param(CHUNKED + b"ea60\r\n", b"x", id="a chunk"),
        pytest.param(CHUNKED + b"0\r\n", b"X: y\r\n", id="trailers"),
    ],
)
def test_answer_that_does_not_end_is_not_waited_for(
    head: bytes, again: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_ANSWER_S", 0.3)
    started = time.monotonic()
    with (
        listening(trickling(head, again)) as port,
        guard.time_limit(5),
        pytest.raises((ConnectionError, TimeoutError), match="its answer does not end"),
    ):
        fetch(f"http://127.0.0.1:{port}/")
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    ("proxy", "fault"),
    [
        ("http://p:abc", "a port that is not a number"),
        ("http://p:0", "a port that is not a number"),
        ("http://[", "no host"),
        ("http://", "no host"),
        ("http://:80", "no host"),
    ],
)
def test_proxy_without_an_address_is_named(
    proxy: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(InputError, match=f"HTTP_PROXY: the proxy has {fault}"):
        fetch("http://hub.example/")


def test_user_agent_is_one_line_of_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_USER_AGENT_ORIGIN", "a\r\nX-Evil: 1")
    agent = headers_of("bibliothèque/日本", False)["User-Agent"]
    assert agent.isascii()
    assert agent.isprintable()
    assert "bibliothque/" in agent


# TLS, with a private authority


def _authority(folder: Path) -> tuple[Path, Path, Path]:
    """Return a new authority's certificate, and a server's for 127.0.0.1 with its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = dt.datetime.now(dt.UTC)

    def issue(name: str, key: object, *, by: tuple[str, object] | None, host: str) -> object:
        issuer, signing = by or (name, key)
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())  # type: ignore[attr-defined]
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        )
        if host:
            names = [x509.IPAddress(ipaddress.ip_address(host))]
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return made.sign(signing, hashes.SHA256())

    root, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    files = {
        "ca.pem": issue("private authority", root, by=None, host=""),
        "server.pem": issue("hub", own, by=("private authority", root), host="127.0.0.1"),
    }
    for name, made in files.items():
        pem = made.public_bytes(serialization.Encoding.PEM)  # type: ignore[attr-defined]
        (folder / name).write_bytes(pem)
    (folder / "key.pem").write_bytes(
        own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder / "ca.pem", folder / "server.pem", folder / "key.pem"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    return _authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure(authority: tuple[Path, Path, Path]) -> Iterator[int]:
    """Give the port of a server that speaks TLS, and answers ``safe``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority[1], authority[2])

    def serve(peer: socket.socket) -> None:
        with context.wrap_socket(peer, server_side=True) as inner:
            while read_request(inner):
                inner.sendall(OK + b"Content-Length: 4\r\n\r\nsafe")

    with listening(serve) as port:
        yield port


def tunnel(asked: list[bytes]) -> Callable[[socket.socket], None]:
    """Be a proxy that connects to whatever is asked for."""

    def pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while part := source.recv(4096):
                target.sendall(part)
        except OSError:
            return

    def serve(peer: socket.socket) -> None:
        asked.append(said := read_request(peer))
        host, _, port = said.split()[1].decode().rpartition(":")
        with socket.create_connection((host, int(port))) as beyond:
            peer.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            back = threading.Thread(target=pump, args=(beyond, peer), daemon=True)
            back.start()
            pump(peer, beyond)

    return serve


@pytest.mark.parametrize("variable", connection.CERTIFICATE_VARIABLES)
def test_private_authority_is_believed_where_it_is_named(
    variable: str,
    secure: int,
    authority: tuple[Path, Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, str(authority[0]))
    assert fetch(f"https://127.0.0.1:{secure}/") == b"safe"


def test_unknown_authority_and_another_name_are_refused(
    secure: int, authority: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
        fetch(f"https://127.0.0.1:{secure}/")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority[0]))
    with pytest.raises(ConnectionError, match=r"(?i)hostname mismatch|is not valid for"):
        fetch(f"https://localhost:{secure}/")


def test_tls_goes_through_a_proxy_that_sees_nothing_of_it(
    secure: int, authority: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority[0]))
    asked: list[bytes] = []
    with listening(tunnel(asked)) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@127.0.0.1:{port}")
        headers = {"Authorization": "Bearer hf_secret"}
        url = f"https://127.0.0.1:{secure}/secret/path"
        for _ in range(2):
            with connection.get(url, headers, timeout_s=5) as reply:
                assert guard.read_answer(reply.stream(100)) == b"safe"
    [said] = asked  # the second request went through the same tunnel
    assert said.startswith(f"CONNECT 127.0.0.1:{secure} ".encode())
    assert b"Proxy-Authorization: Basic bWU6cEBzcw==" in said
    assert b"secret" not in said


def test_proxy_that_refuses_a_tunnel_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(saying(b"HTTP/1.1 407 Login first\r\n\r\n")) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        with pytest.raises(ConnectionError, match="Tunnel connection failed: 407 Login first"):
            fetch("https://127.0.0.1:1/")


def test_proxy_whose_refusal_does_not_end_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "MAX_ANSWER_S", 0.3)
    with listening(trickling(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")) as port, guard.time_limit(5):
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        with pytest.raises((ConnectionError, TimeoutError), match=r"does not end|100 headers"):
            fetch("https://127.0.0.1:1/")
