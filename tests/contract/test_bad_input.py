"""What no client should send: each gets one clear answer, and nothing is written."""

from __future__ import annotations

import base64
import json
import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from tests.contract.raw import send

if TYPE_CHECKING:
    from demo.hub import RunningHub
    from huggingface_hub import HfApi
    from tests.contract.conftest import TestRepo

HEADER = b'{"key":"header","value":{"summary":"x"}}\n'
LONG = b"A" * 400_000


def file_line(path: str, content: bytes = b"eA==", encoding: str = "base64") -> bytes:
    value = {"path": path, "content": content.decode(), "encoding": encoding}
    return json.dumps({"key": "file", "value": value}).encode() + b"\n"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "the commit is empty", id="empty"),
        pytest.param(b"{nonsense\n", "line 1: not valid JSON", id="not-json"),
        pytest.param(b"[" * 100_000, "line 1: not valid JSON", id="deep"),
        pytest.param(b"\xff\xfe\n", "line 1: not valid JSON", id="not-utf8"),
        pytest.param(b"[]\n", "line 1: must be a JSON object", id="not-an-object"),
        pytest.param(file_line("a"), "line 1: the first line, and only it", id="no-header"),
        pytest.param(HEADER + HEADER, "line 2: the first line, and only it", id="two-headers"),
        pytest.param(HEADER + b'{"key":"file"}', "value: must be a JSON object", id="no-value"),
        pytest.param(
            HEADER + b'{"key":"file","value":{"path":7,"content":""}}',
            "line 2 value: 'path' must be a str",
            id="path-is-a-number",
        ),
        pytest.param(
            HEADER + b'{"key":"file","value":{"path":"a"}}', "'content' is missing", id="no-content"
        ),
        pytest.param(
            HEADER + b'{"key":"dance","value":{}}',
            "line 2: unknown operation 'dance'",
            id="unknown",
        ),
        pytest.param(
            HEADER + file_line("a", b"eA="), "line 2: 'content' is not valid base64", id="base64"
        ),
        pytest.param(
            HEADER + file_line("a", b"e!A="), "line 2: 'content' is not valid base64", id="letters"
        ),
        pytest.param(
            HEADER + file_line("a", LONG + b"AA"),
            "line 2: 'content' is not valid",
            id="long-base64",
        ),
        pytest.param(
            HEADER + file_line("a", LONG + b"!AAA"),
            "line 2: 'content' is not valid base64",
            id="long-letters",
        ),
        pytest.param(
            HEADER + b'{"key":"file","value":{"content":"%s\\"' % LONG,
            "line 2: 'content' is not valid base64",
            id="long-escape",
        ),
        pytest.param(
            HEADER + b'{"key":"file","value":{"path":"%s"}}' % LONG,
            "line 2: a long line must hold one base64 'content'",
            id="long-path",
        ),
        pytest.param(
            HEADER + file_line("a", LONG, "utf-8"),
            "line 2: a long line must hold one base64 'content'",
            id="long-text",
        ),
        pytest.param(
            HEADER + b'{"key":"deletedFile","value":{"path":"a","content":"%s"}}' % LONG,
            "line 2: a long line must hold one base64 'content'",
            id="long-deletion",
        ),
        pytest.param(
            HEADER + file_line("a", b"x", "rot13"), "unknown encoding 'rot13'", id="encoding"
        ),
        pytest.param(
            HEADER + b'{"key":"lfsFile","value":{"path":"a","algo":"sha256","oid":"0","size":1}}',
            "line 2: 'oid' must be a sha256 as 64 lower-case hex digits",
            id="lfs",
        ),
    ],
)
def test_commit_is_refused_when_malformed(
    api: HfApi, kernel: TestRepo, hub: RunningHub, body: bytes, text: str
) -> None:
    reply = send(hub, "POST", f"{kernel.api_path}/commit/main", body)
    assert (reply.status, text in reply.error) == (400, True), reply.error
    assert len(api.list_repo_commits(kernel.id, repo_type="kernel")) == 1


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../a", "it has a '..'"),
        ("a/../../b", "it has a '..'"),
        ("/etc/passwd", "it is absolute"),
        ("a//b", "it has an empty component"),
        ("", "it has an empty component"),
        ("./a", "it has an empty component"),
        (".git/config", "'.git' belongs to git"),
        ("a/.GIT/hooks/x", "'.git' belongs to git"),
        ("a/.g\u200cit/x", "'.git' belongs to git"),
        ("git~1/x", "'.git' belongs to git"),
        (".git /x", "'.git' belongs to git"),
        ("a\\b", "it has a backslash"),
        ("a\0b", "it has a control character"),
        ("a\nb", "it has a control character"),
        ("\ud800", "'path' holds half a surrogate pair"),
        ("x/y.pyc", "it is Python bytecode"),
        ("x/__pycache__/y", "it is Python bytecode"),
        ("a" * 300, "a component is longer than 255 bytes"),
        ("/".join(["a" * 250] * 20), "it is longer than 4096 bytes"),
        ("a/" * 100 + "a", "it has more than 100 components"),
    ],
)
def test_path_is_refused_when_it_is_unsafe(
    kernel: TestRepo, hub: RunningHub, path: str, why: str
) -> None:
    body = HEADER + file_line(path)
    for url, data in (
        (f"{kernel.api_path}/commit/main", body),
        (f"{kernel.api_path}/preupload/main", json.dumps({"files": [{"path": path}]}).encode()),
    ):
        reply = send(hub, "POST", url, data)
        assert (reply.status, why in reply.error) == (400, True), reply.error


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("POST", "/api/repos/create", b"{", "request body: not valid JSON"),
        ("POST", "/api/repos/create", b"[]", "request body: must be a JSON object"),
        ("POST", "/api/repos/create", b"{}", "request body: 'name' is missing"),
        (
            "POST",
            "/api/repos/create",
            b'{"name":"a b","organization":"acme"}',
            "is not a repository id",
        ),
        (
            "POST",
            "/api/repos/create",
            b'{"name":"..","organization":"acme"}',
            "is not a repository id",
        ),
        ("POST", "/api/repos/create", b'{"name":"a","visibility":"odd"}', "unknown visibility"),
        (
            "POST",
            "/api/repos/move",
            b'{"fromRepo":"acme/a","toRepo":"b"}',
            "'b' is not a repository id",
        ),
        ("POST", "/api/validate-yaml", b'{"content":3}', "'content' must be a str"),
        ("GET", "/api/models?limit=many", None, "'limit' must be a whole number"),
        ("GET", "/api/models/acme/%FF/refs", None, "the path's 'name' is not UTF-8"),
    ],
)
def test_request_is_refused_when_malformed(
    hub: RunningHub, method: str, path: str, body: bytes | None, text: str
) -> None:
    reply = send(hub, method, path, body)
    assert (reply.status, text in reply.error) == (400, True), reply.error


@pytest.mark.parametrize(
    ("method", "path", "values"),
    [
        ("POST", "/api/repos/create", {"name": "x", "organization": "\ud800"}),
        ("DELETE", "/api/repos/delete", {"name": "\ud800"}),
        ("POST", "/api/repos/move", {"fromRepo": "a/\ud800", "toRepo": "acme/b"}),
        ("POST", "{repo}/branch/b", {"startingPoint": "\ud800"}),
        ("POST", "{repo}/tag/main", {"tag": "t", "message": "\ud800"}),
        ("POST", "{repo}/paths-info/main", {"paths": ["\ud800"]}),
        ("POST", "{repo}/commit/main", {"key": "header", "value": {"parentCommit": "\ud800"}}),
    ],
)
def test_request_is_refused_when_its_text_is_no_unicode(
    kernel: TestRepo, hub: RunningHub, method: str, path: str, values: object
) -> None:
    body = json.dumps(values).encode()
    url = path.format(repo=kernel.api_path)
    reply = send(hub, method, url, body, Content_Type="application/json")
    assert (reply.status, "holds half a surrogate pair" in reply.error) == (400, True), reply.error


def test_refusal_quotes_what_would_break_its_header(kernel: TestRepo, hub: RunningHub) -> None:
    value = {"summary": "x", "parentCommit": "\0\x1b\r\nX-Evil: 1"}
    body = json.dumps({"key": "header", "value": value}).encode()
    reply = send(hub, "POST", f"{kernel.api_path}/commit/main", body)
    assert reply.status == 412
    assert r"the given parent '\x00\x1b\r\nX-Evil: 1'" in reply.headers["x-error-message"]


def test_deepest_path_can_be_written_and_listed(kernel: TestRepo, hub: RunningHub) -> None:
    path = "a/" * 99 + "b"
    assert (
        send(hub, "POST", f"{kernel.api_path}/commit/main", HEADER + file_line(path)).status == 200
    )
    for query in ("tree/main?recursive=1&expand=1&limit=50&cursor=60", "revision/main?blobs=1"):
        reply = send(hub, "GET", f"{kernel.api_path}/{query}")
        assert (reply.status, path in reply.body.decode()) == (200, True)


def test_preupload_is_refused_when_malformed(kernel: TestRepo, hub: RunningHub) -> None:
    reply = send(hub, "POST", f"{kernel.api_path}/preupload/main", b'{"files":["a"]}')
    assert (reply.status, reply.error) == (
        400,
        "request body files[0]: must be a JSON object",
    )


def test_paths_info_takes_json_too(kernel: TestRepo, hub: RunningHub) -> None:
    url = f"{kernel.api_path}/paths-info/main"
    json_type = {"Content_Type": "application/json"}
    reply = send(hub, "POST", url, b'{"paths":["a"]}', **json_type)
    assert (reply.status, reply.body) == (200, b"[]")
    reply = send(hub, "POST", url, b'{"paths":"a"}', **json_type)
    assert (reply.status, reply.error) == (400, "request body: 'paths' must be a list")


def test_commit_is_refused_when_it_is_too_large(kernel: TestRepo, hub: RunningHub) -> None:
    # The size is refused by its header alone, before a byte is received.
    reply = send(hub, "POST", f"{kernel.api_path}/commit/main", Content_Length=str(65 * 1024**2))
    assert (reply.status, "larger than this Hub's limit of 67108864 bytes" in reply.error) == (
        413,
        True,
    )


def test_upload_ends_when_the_client_goes_away(
    api: HfApi, kernel: TestRepo, hub: RunningHub
) -> None:
    where = urlsplit(hub.url)
    with socket.create_connection((where.hostname or "", where.port or 0)) as connection:
        head = (
            f"POST {kernel.api_path}/commit/main HTTP/1.1\r\nHost: {where.netloc}\r\n"
            f"Authorization: Bearer {hub.token}\r\nContent-Length: 9000000\r\n\r\n"
        )
        connection.sendall(head.encode() + HEADER + b" " * 4_000_000)
    log = hub.data.with_name("hub.log")
    deadline = time.monotonic() + 10
    while f"POST {kernel.api_path}/commit/main 400" not in log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "Traceback" not in log.read_text()
    assert len(api.list_repo_commits(kernel.id, repo_type="kernel")) == 1


def test_hub_answers_when_many_uploads_stand_still(kernel: TestRepo, hub: RunningHub) -> None:
    where = urlsplit(hub.url)
    head = (
        f"POST {kernel.api_path}/commit/main HTTP/1.1\r\nHost: {where.netloc}\r\n"
        f"Authorization: Bearer {hub.token}\r\nContent-Length: 1000\r\n\r\n"
    )
    with ExitStack() as stack:
        for _ in range(200):
            address = (where.hostname or "", where.port or 0)
            connection = stack.enter_context(socket.create_connection(address, timeout=10))
            connection.sendall(head.encode() + HEADER)
        assert send(hub, "GET", "/health").status == 200
        body = HEADER + file_line("a")
        assert send(hub, "POST", f"{kernel.api_path}/commit/main", body).status == 200


def test_pull_request_is_refused_clearly(kernel: TestRepo, hub: RunningHub) -> None:
    reply = send(hub, "POST", f"{kernel.api_path}/commit/main?create_pr=1", HEADER)
    assert (reply.status, reply.error) == (
        400,
        "this Hub has no pull requests yet: commit to a branch",
    )


def test_unknown_page_is_json_too(hub: RunningHub) -> None:
    reply = send(hub, "GET", "/api/nothing")
    assert (reply.status, reply.error) == (404, "this Hub has no such page")
    assert reply.headers["x-error-message"] == "this Hub has no such page"
    assert send(hub, "PUT", "/api/whoami-v2").status == 405


def test_file_is_not_run_by_a_browser(api: HfApi, kernel: TestRepo, hub: RunningHub) -> None:
    body = HEADER + file_line("x.html", base64.b64encode(b"<script>alert(1)</script>"))
    assert send(hub, "POST", f"{kernel.api_path}/commit/main", body).status == 200
    reply = send(hub, "GET", f"{kernel.file_path}/resolve/main/x.html")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert reply.headers["x-content-type-options"] == "nosniff"
