"""The Hub's binary caches: what is kept, what is refused, and the real Nix as a client."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final

import pytest
from tests.contract.accounts import make_token, make_user
from tests.contract.raw import Reply, send
from tests.nix_tools import Nix, entry_of, nar_of

from kernelmill.spec import narinfo
from kernelmill.spec.nix_store import fixed_path, keyed_path, path_hash, spell_sha256

if TYPE_CHECKING:
    from pathlib import Path

    from demo.hub import RunningHub

    from kernelmill.spec.narinfo import NarInfo

CACHE: Final = "/nix/acme"
NUMBERS: Final = count(1)


def unique() -> bytes:
    return b"content %d" % next(NUMBERS)


def put(hub: RunningHub, info: NarInfo, nar: bytes | None = None, cache: str = CACHE) -> Reply:
    if nar is not None:
        reply = send(hub, "PUT", f"{cache}/{info.url}", nar)
        assert reply.status == 200, reply.body
    path = f"{cache}/{path_hash(info.store_path)}.narinfo"
    return send(hub, "PUT", path, narinfo.dumps(info).encode())


def get_info(hub: RunningHub, info: NarInfo, cache: str = CACHE) -> Reply:
    return send(hub, "GET", f"{cache}/{path_hash(info.store_path)}.narinfo", token=None)


def test_entry_is_served_as_it_was_put(hub: RunningHub) -> None:
    info, nar = entry_of(unique())
    info = replace(info, store_path=keyed_path("served", "thing"))
    assert put(hub, info, nar).status == 200
    reply = get_info(hub, info)
    assert reply.status == 200
    assert reply.body.decode() == narinfo.dumps(info)
    assert reply.headers["content-type"].startswith("text/x-nix-narinfo")
    archive = send(hub, "GET", f"{CACHE}/{info.url}", token=None)
    assert (archive.status, archive.body) == (200, nar)
    part = send(hub, "GET", f"{CACHE}/{info.url}", token=None, Range="bytes=8-20")
    assert (part.status, part.body) == (206, nar[8:21])
    head = send(hub, "HEAD", f"{CACHE}/{info.url}", token=None)
    assert (head.status, head.headers["content-length"]) == (200, str(len(nar)))


def test_cache_says_for_which_store_it_is(hub: RunningHub) -> None:
    reply = send(hub, "GET", f"{CACHE}/nix-cache-info", token=None)
    assert reply.status == 200
    assert b"StoreDir: /nix/store\n" in reply.body
    assert send(hub, "GET", "/nix/nobody-here/nix-cache-info", token=None).status == 404


def test_the_same_again_is_no_error(hub: RunningHub) -> None:
    info, nar = entry_of(unique(), key="again")
    assert put(hub, info, nar).status == 200
    assert put(hub, info, nar).status == 200


def test_other_content_for_a_path_is_refused(hub: RunningHub) -> None:
    info, nar = entry_of(unique(), key="overwrite")
    assert put(hub, info, nar).status == 200
    other, other_nar = entry_of(unique(), key="overwrite")
    reply = put(hub, other, other_nar)
    assert reply.status == 409
    assert "is here with other content" in reply.error
    assert get_info(hub, info).body.decode() == narinfo.dumps(info)


def test_another_signature_is_added(hub: RunningHub) -> None:
    info, nar = entry_of(unique(), key="signatures")
    assert put(hub, info, nar).status == 200
    second = f"second-1:{base64.b64encode(bytes(64)).decode()}"
    assert put(hub, replace(info, signatures=(second,))).status == 200
    kept = narinfo.parse(get_info(hub, info).body.decode(), where="")
    assert kept.signatures == (*info.signatures, second)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"nar_sha256": "0" * 64}, "NarHash and NarSize are not those", id="hash"),
        pytest.param({"nar_bytes": 8}, "NarHash and NarSize are not those", id="size"),
        pytest.param({"file_bytes": 8}, "FileHash and FileSize are not those", id="file-size"),
        pytest.param({"file_sha256": "0" * 64}, "FileHash and FileSize", id="file-hash"),
        pytest.param({"nar_bytes": 10**14}, "over this Hub's limit", id="bomb"),
        pytest.param({"signatures": ()}, "is not signed: push it with a key", id="unsigned"),
        pytest.param(
            {"content_address": "fixed:r:sha256:" + "0" * 52}, "not the path of", id="address"
        ),
        pytest.param({"store_path": keyed_path("x", "y")}, "describes another path", id="path"),
    ],
)
def test_untrue_entry_is_refused(hub: RunningHub, change: dict[str, object], message: str) -> None:
    info, nar = entry_of(unique(), key=f"untrue {message} {change}")
    assert send(hub, "PUT", f"{CACHE}/{info.url}", nar).status == 200
    path = f"{CACHE}/{path_hash(info.store_path)}.narinfo"
    untrue = replace(info, **change)  # type: ignore[arg-type]
    reply = send(hub, "PUT", path, narinfo.dumps(untrue).encode())
    assert reply.status == 400
    assert message in reply.error
    assert get_info(hub, info).status == 404


def test_entry_without_its_archive_is_refused(hub: RunningHub) -> None:
    info, _ = entry_of(unique(), key="no archive")
    reply = put(hub, info)
    assert (reply.status, "send it before its narinfo" in reply.error) == (400, True)


def test_archive_under_another_hash_is_refused(hub: RunningHub) -> None:
    info, nar = entry_of(unique())
    reply = send(hub, "PUT", f"{CACHE}/{info.url}", nar + b"x")
    assert (reply.status, "not the one in the name" in reply.error) == (400, True)
    assert send(hub, "GET", f"{CACHE}/{info.url}").status == 404


def test_archive_that_is_not_compressed_as_it_says_is_refused(hub: RunningHub) -> None:
    info, nar = entry_of(unique(), key="zstd")
    url = narinfo.nar_url(info.file_sha256, "zstd")
    assert send(hub, "PUT", f"{CACHE}/{url}", nar).status == 200
    reply = put(hub, replace(info, url=url, compression="zstd"))
    assert (reply.status, "damaged zstd data" in reply.error) == (400, True)


def test_tree_of_a_known_hash_needs_no_signature(hub: RunningHub) -> None:
    info, nar = entry_of(unique())
    digest = hashlib.sha256(nar).hexdigest()
    fixed = replace(
        info,
        store_path=fixed_path(digest, "sdk-1.0+cpu"),
        content_address=f"fixed:r:{spell_sha256(digest)}",
        signatures=(),
    )
    assert put(hub, fixed, nar).status == 200


def test_too_large_an_archive_is_refused(hub: RunningHub) -> None:
    url = narinfo.nar_url("0" * 64, "none")
    reply = send(hub, "PUT", f"{CACHE}/{url}", b"x", Content_Length=str(65 << 20))
    assert (reply.status, "larger than this Hub's limit" in reply.error) == (413, True)


@pytest.mark.parametrize(
    "path",
    [
        "nar/..%2F..%2Fx",
        "nar/%2e%2e",
        "nar/x.nar.zst",
        "%2e%2e%2fx.narinfo",
        "abc.narinfo",
        f"{'e' * 32}.narinfo",
        f"{'0' * 32}.narinfo%00",
        f"{'0' * 32}.ls",
        "nar/%ff",
    ],
)
def test_other_names_are_refused(hub: RunningHub, path: str) -> None:
    for method in ("GET", "PUT"):
        reply = send(hub, method, f"{CACHE}/{path}", b"x" if method == "PUT" else None)
        assert reply.status in {400, 404}, reply.body


def test_writing_needs_a_token_that_may(hub: RunningHub) -> None:
    make_user(hub, "cache-guest")
    info, nar = entry_of(unique())
    path = f"{CACHE}/{info.url}"
    assert send(hub, "PUT", path, nar, token=None).status == 401
    assert send(hub, "PUT", path, nar, token="hf_wrong").status == 401
    guest = make_token(hub, "cache-guest", "write")
    assert send(hub, "PUT", path, nar, token=guest).status == 403
    reader = make_token(hub, "admin", "read")
    assert send(hub, "PUT", path, nar, token=reader).status == 403
    assert send(hub, "PUT", f"/nix/cache-guest/{info.url}", nar, token=guest).status == 200


def test_token_may_come_as_a_password(hub: RunningHub) -> None:
    info, nar = entry_of(unique())
    pair = base64.b64encode(f"anyone:{hub.token}".encode()).decode()
    path = f"{CACHE}/{info.url}"
    reply = send(hub, "PUT", path, nar, token=None, Authorization=f"Basic {pair}")
    assert reply.status == 200
    wrong = base64.b64encode(b"anyone:wrong").decode()
    assert send(hub, "GET", path, token=None, Authorization=f"Basic {wrong}").status == 401
    assert send(hub, "GET", path, token=None, Authorization="Basic ?").status == 401


def test_private_cache_is_for_members(hub: RunningHub) -> None:
    make_user(hub, "cache-member", "acme")
    make_user(hub, "cache-outsider")
    private = f"{CACHE}/private"
    info, nar = entry_of(unique(), key="private")
    assert put(hub, info, nar, cache=private).status == 200
    paths = [f"{private}/{path_hash(info.store_path)}.narinfo", f"{private}/{info.url}"]
    member = make_token(hub, "cache-member", "read")
    outsider = make_token(hub, "cache-outsider", "write")
    for path in (*paths, f"{private}/nix-cache-info"):
        assert send(hub, "GET", path, token=member).status == 200
        assert send(hub, "GET", path, token=outsider).status == 404
        assert send(hub, "GET", path, token=None).status == 404
    assert get_info(hub, info).status == 404  # nor is it in the public one
    assert send(hub, "GET", f"{CACHE}/{info.url}").status == 404


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/tool").write_bytes(unique())
    (folder / "bin/tool").chmod(0o755)
    (folder / "link").symlink_to("bin/tool")
    (folder / "empty").mkdir()
    return folder


def test_nix_pushes_and_substitutes(hub: RunningHub, tree: Path, tmp_path: Path) -> None:
    maker, reader = Nix(folder=tmp_path / "maker"), Nix(folder=tmp_path / "reader")
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1\nlogin anyone\npassword {hub.token}\n")
    secret = maker.want("key", "generate-secret", "--key-name", "test-1")
    public = maker.want("key", "convert-secret-to-public", stdin=secret)
    (tmp_path / "secret").write_text(secret)
    path = maker.want("store", "add-path", "--name", "thing-1.0+x", tree)
    cache = f"{hub.url}{CACHE}"
    signing = f"{cache}?compression=zstd&secret-key={tmp_path / 'secret'}"
    refused = maker.run("copy", "--to", signing, path)
    assert refused.returncode != 0
    assert "HTTP error 401" in refused.stderr
    maker.want("copy", "--option", "netrc-file", netrc, "--to", signing, path)

    reader.want("copy", "--from", cache, "--option", "trusted-public-keys", public, path)
    assert (reader.folder / f"store{path}/bin/tool").read_bytes() == (
        tree / "bin/tool"
    ).read_bytes()
    assert (reader.folder / f"store{path}/link").readlink().name == "tool"


def test_nix_reads_a_private_cache_as_a_member(hub: RunningHub, tree: Path, tmp_path: Path) -> None:
    maker, reader = Nix(folder=tmp_path / "maker"), Nix(folder=tmp_path / "reader")
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1\nlogin anyone\npassword {hub.token}\n")
    secret = maker.want("key", "generate-secret", "--key-name", "test-2")
    public = maker.want("key", "convert-secret-to-public", stdin=secret)
    (tmp_path / "secret").write_text(secret)
    path = maker.want("store", "add-path", "--name", "private-thing", tree)
    cache, member = f"{hub.url}{CACHE}/private", ("--option", "netrc-file", netrc)
    maker.want("copy", *member, "--to", f"{cache}?secret-key={tmp_path / 'secret'}", path)
    trusting = ("--option", "trusted-public-keys", public, "--from", cache, path)
    assert reader.run("copy", *trusting).returncode != 0
    reader.want("copy", *member, *trusting)
    assert (reader.folder / f"store{path}/bin/tool").is_file()


def test_nix_refuses_what_nobody_it_trusts_signed(hub: RunningHub, tmp_path: Path) -> None:
    reader = Nix(folder=tmp_path / "reader")
    info, nar = entry_of(unique(), key="not trusted")
    assert put(hub, info, nar).status == 200
    done = reader.run("copy", "--from", f"{hub.url}{CACHE}", info.store_path)
    assert done.returncode != 0
    assert "lacks a valid signature" in done.stderr


def test_nar_of_the_tests_is_what_nix_makes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"some content")
    printed = Nix(folder=tmp_path).want("hash", "path", "--base16", tmp_path / "file")
    assert printed == hashlib.sha256(nar_of(b"some content")).hexdigest()
