"""A Hub that lies: one clear error, and nothing written outside the cache."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from tests.unit.runtime.kernel_files import kernel_files, oid_of, unload_kernels

from kernelmill.runtime.cache import Cache
from kernelmill.runtime.errors import CacheUnusable, HubUnreachable, NotTrusted, VersionNotFound
from kernelmill.runtime.hub import blobs, guard, remote
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.runtime.hub.remote import RemoteHub
from kernelmill.runtime.session import Session
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import HubError, KernelError
from kernelmill.spec.host import Host
from kernelmill.spec.names import RepoId
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from kernelmill.runtime.hub import Hub

COMMIT = "a" * 40
METADATA = "build/torch-cpu/metadata.json"
Reply = tuple[bytes, dict[str, str]]


def listed(*paths: object) -> bytes:
    return json.dumps(
        [{"type": "file", "path": path, "size": 3, "oid": COMMIT} for path in paths]
    ).encode()


def named(name: object, commit: object = COMMIT) -> bytes:
    ref = {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit}
    return json.dumps({"branches": [ref], "tags": [], "converts": []}).encode()


def vouched(**values: object) -> bytes:
    return json.dumps({"avatarUrl": "", "name": "acme", "fullname": "acme", **values}).encode()


GOOD: dict[str, bytes] = {
    "/resolve/": b"{}",
    "/overview": vouched(trustedKernelPublisher=True),
    "/refs": named("v1"),
    "/revision/": json.dumps({"id": "acme/toy", "sha": COMMIT, "siblings": []}).encode(),
    "/tree/": listed(METADATA),
    "/build": b'[{"type":"directory","path":"build/torch-cpu","oid":"1"}]',
}


@contextmanager
def serving(
    pages: Mapping[str, bytes],
    headers: Callable[[bytes], Mapping[str, str]],
    statuses: Mapping[bytes, int] = MappingProxyType({}),
) -> Iterator[str]:
    """Serve the last page whose name is in the path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            name = "/build" if path.endswith("/build") else ""
            name = name or next(name for name in pages if name in path)
            body = pages[name]
            self.send_response(statuses.get(body, 200))
            for key, value in headers(body).items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the library's name

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def file_headers(body: bytes) -> dict[str, str]:
    etag = hashlib.sha1(body, usedforsecurity=False).hexdigest()
    return {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}


def load(
    tmp_path: Path,
    pages: Mapping[str, bytes],
    headers: Callable[[bytes], Mapping[str, str]] = file_headers,
    revision: str | None = None,
    *,
    statuses: Mapping[bytes, int] | None = None,
    is_remembered: bool = False,
) -> None:
    host = Host(
        cpu="x86_64",
        os="linux",
        backend=Backend.CPU,
        torch=parse_release("2.13.0+cpu", what="torch"),
        cxx11_abi=True,
        python=(3, 11),
        glibc=(2, 36),
    )
    with serving({**pages, **GOOD, **pages}, headers, statuses or {}) as url:
        cache = Cache(root=tmp_path / "in" / "c")
        hub: Hub = RemoteHub(url)
        if is_remembered:
            remote_hub = hub
            hub = RememberedHub(
                endpoint=url, cache=cache, connect=lambda: remote_hub, max_age_s=100.0
            )
        session = Session(hub=hub, cache=cache, host=host)
        session.load(session.select("acme/toy", revision=revision))


@pytest.mark.parametrize("page", ["/overview", "/refs", "/tree/", "/build"])
@pytest.mark.parametrize("body", [b"<html>", b"", b"null", b"[1]", b'"x"', b"[" * 100_000])
def test_answer_of_another_shape_is_one_clear_error(tmp_path: Path, page: str, body: bytes) -> None:
    with pytest.raises(HubError, match="the Hub's answer makes no sense") as caught:
        load(tmp_path, {page: body})
    assert "check that HF_ENDPOINT is a Hub" in caught.value.hint


@pytest.mark.parametrize("commit", ["../../../../outside", "a" * 39, "A" * 40, "", None, 5])
def test_commit_is_refused_when_it_is_no_commit(tmp_path: Path, commit: object) -> None:
    by_revision = {"/revision/": json.dumps({"id": "acme/toy", "sha": commit}).encode()}
    for pages, revision in (({"/refs": named("v1", commit)}, None), (by_revision, "main")):
        with pytest.raises(HubError, match="the Hub says that the commit is"):
            load(tmp_path, pages, revision=revision)
    assert sorted(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("ETag", '"../../../../outside"'),
        ("ETag", "/nowhere/outside"),
        ("X-Linked-ETag", '"a/b"'),
        ("X-Linked-ETag", '".."'),
        ("X-Repo-Commit", "../../../../outside"),
    ],
)
def test_nothing_is_written_outside_the_cache_when_a_reply_names_it(
    tmp_path: Path, header: str, value: str
) -> None:
    with pytest.raises(HubError, match=r"the Hub (gives a file|says that the commit is)"):
        load(
            tmp_path,
            {},
            lambda body: file_headers(body) | ({header: value} if body == b"{}" else {}),
        )
    assert not list(tmp_path.rglob("*outside*"))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    "path",
    [
        "build/torch-cpu/../x",
        "/etc/passwd",
        "build/torch-cpu/a\\b",
        "build/torch-cpu/a\0b",
        "build/torch-cpu/\x1b[31m",
        "build/torch-cpu/\ud800",
        "build/torch-cpu/./a",
        "build/torch-cpu//a",
        "build/torch-cpu/",
    ],
)
def test_file_is_refused_when_its_path_is_odd(tmp_path: Path, path: str) -> None:
    metadata = {"name": "toy", "id": "_toy_evil", "version": 1, "license": "MIT"}
    metadata |= {"python-depends": [], "backend": {"type": "cpu"}}
    pages = {"/tree/": listed(METADATA, path), "/resolve/": json.dumps(metadata).encode()}
    with pytest.raises(HubError, match=r"outside its folder|not a usable name"):
        load(tmp_path, pages)


def test_listing_is_refused_when_it_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MAX_ENTRIES", 10)
    with pytest.raises(HubError, match="lists more than 10 files in 'build/torch-cpu'"):
        load(tmp_path, {"/tree/": listed(*(f"build/torch-cpu/{i}" for i in range(11)))})


@pytest.mark.parametrize("name", ["v01", "v-1", "v1.0", "v\u0663", "V1", "v" + "9" * 5000, "v1 "])
def test_branch_is_no_version_when_it_only_looks_like_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(VersionNotFound, match="has neither a version nor a main branch"):
        load(tmp_path, {"/refs": named(name)})


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"trustedKernelPublisher": "true"},
        {"trustedKernelPublisher": 1},
        {"trustedKernelPublisher": None},
        {"trustedKernelPublisher": True, "name": "another"},
        {"trustedKernelPublisher": True, "name": None},
    ],
)
def test_publisher_is_not_trusted_unless_the_hub_says_just_that(
    tmp_path: Path, values: dict[str, object]
) -> None:
    with pytest.raises(NotTrusted, match="is not from a trusted publisher"):
        load(tmp_path, {"/overview": vouched(**values)})


def test_metadata_is_not_fetched_when_it_is_huge(tmp_path: Path) -> None:
    page = listed(METADATA).replace(b'"size": 3', b'"size": 99999999999')
    with pytest.raises(KernelError, match="has more than 16777216 bytes"):
        load(tmp_path, {"/tree/": page})
    assert not list(tmp_path.rglob("blobs"))


def test_cache_is_named_when_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a file")
    with pytest.raises(CacheUnusable, match="cannot write the cache: Not a directory") as caught:
        load(tmp_path, {})
    assert caught.value.hint == "set KERNELS_CACHE to a folder that can be written"


@pytest.mark.parametrize(
    "name",
    ["../../../../../../outside", "/outside", "a\0b", "a\ud800b", "x/../../y", "\x1b[31m", ""],
)
def test_nothing_is_named_after_a_branch_that_leads_elsewhere(tmp_path: Path, name: str) -> None:
    """The cache notes a build under the names of all branches that lead to it."""
    victim = tmp_path / "outside"
    victim.write_text("precious")
    name = str(victim) if name == "/outside" else name
    files = {f"build/torch-cpu/{path}": it for path, it in kernel_files().items()}
    refs = json.loads(named("v1"))
    refs["branches"] += json.loads(named(name))["branches"]
    rows = [
        {"type": "file", "path": path, "size": len(it), "oid": oid_of(it)}
        for path, it in files.items()
    ]
    pages = {
        "/refs": json.dumps(refs).encode(),
        "/tree/": json.dumps(rows).encode(),
        **{f"/resolve/{COMMIT}/{path}": it for path, it in files.items()},
    }
    load(tmp_path, pages, is_remembered=True)
    unload_kernels()
    assert victim.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "outside"]
    assert [path.name for path in tmp_path.rglob("refs/*")] == ["v1"]


def test_listing_is_refused_when_its_pages_lead_on_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_REPLIES", 10)

    with serving(
        {"/build": b"[]", "": b"[]"}, lambda _: {"Link": f'<{elsewhere[0]}/>; rel="next"'}
    ) as url:
        elsewhere = [url]
        hub = RemoteHub(url)
        with pytest.raises(HubError, match="answers with more than 10 pages"):
            hub.fetch_files(RepoId.parse("acme/toy"), COMMIT, "build")


def test_answer_is_refused_when_it_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_ANSWER_BYTES", 100_000)
    with pytest.raises(HubError, match="answers with more than 100000 bytes"):
        load(tmp_path, {"/refs": b" " * 200_000})
    bomb = gzip.compress(bytes(50_000_000))
    assert len(bomb) < 100_000
    with pytest.raises(HubError, match="answers with more than 100000 bytes"):
        load(
            tmp_path,
            {"/refs": bomb},
            lambda body: {"Content-Encoding": "gzip"} if body == bomb else {},
        )


@pytest.mark.parametrize("page", ["/overview", "/refs", "/tree/", "/resolve/"])
@pytest.mark.parametrize(
    "header",
    [
        {"Retry-After": "100000"},
        {"Retry-After": "9" * 5000},
        {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"},
        {"RateLimit": '"api";r=0;t=100000'},
    ],
)
def test_hub_is_not_waited_for_as_long_as_it_likes(
    tmp_path: Path, page: str, header: dict[str, str]
) -> None:
    with pytest.raises(HubUnreachable, match="it asks to wait"):
        load(
            tmp_path,
            {page: b"busy"},
            lambda body: header if body == b"busy" else file_headers(body),
            statuses={b"busy": 429},
        )


def test_file_below_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HubError, match="below the file 'build/torch-cpu/a'"):
        load(tmp_path, {"/tree/": listed(METADATA, "build/torch-cpu/a", "build/torch-cpu/a/b")})
    with pytest.raises(HubError, match="names a file in 1003 folders"):
        load(tmp_path, {"/tree/": listed(METADATA, f"build/torch-cpu/{'a/' * 1000}b")})


def test_full_disk_is_no_silent_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(blobs.IncompleteBlob, "write", write)
    with pytest.raises(CacheUnusable, match="cannot write the cache: No space left") as caught:
        load(tmp_path, {})
    assert "make room" in caught.value.hint
