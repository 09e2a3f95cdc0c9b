"""What the store of large files must not believe, and whom it must not serve."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.contract.accounts import make_token
from tests.contract.raw import Reply, send
from tests.xet_objects import make_file, make_xorb, render_shard, whole_file

from kernelmill.hub.wire.hashes import hash_text

if TYPE_CHECKING:
    from demo.hub import RunningHub
    from huggingface_hub import HfApi
    from tests.contract.conftest import TestRepo

    from kernelmill.hub.wire.shards import ShardFile

DICE = random.Random(5)
SECRETS = [DICE.randbytes(20_000) for _ in range(3)]


@dataclass(frozen=True, slots=True)
class Session:
    """A Xet token for a repository."""

    hub: RunningHub
    token: str

    def xorb(self, name: bytes, body: bytes) -> Reply:
        path = f"/cas/v1/xorbs/default/{hash_text(name)}"
        return send(self.hub, "POST", path, body, token=self.token)

    def shard(self, *files: ShardFile, version: int = 1) -> Reply:
        body = render_shard(files, [])
        return send(self.hub, "POST", f"/cas/v{version}/shards", body, token=self.token)

    def get(self, path: str, *, span: str = "") -> Reply:
        return send(self.hub, "GET", f"/cas/{path}", token=self.token, range=span)


def open_session(hub: RunningHub, repo: TestRepo, mode: str, token: str | None) -> Session:
    reply = send(hub, "GET", f"{repo.api_path}/xet-{mode}-token/main", token=token)
    assert reply.status == 200, reply.body
    body = json.loads(reply.body)
    assert body["accessToken"] == reply.headers["x-xet-access-token"]
    assert body["casUrl"] == reply.headers["x-xet-cas-url"] == f"{hub.url}/cas"
    assert str(body["exp"]) == reply.headers["x-xet-token-expiration"]
    return Session(hub, body["accessToken"])


def chunks(seed: int) -> list[bytes]:
    dice = random.Random(seed)
    return [dice.randbytes(9000), b"text " * 4000, dice.randbytes(100)]


@pytest.fixture
def session(hub: RunningHub, kernel: TestRepo) -> Session:
    return open_session(hub, kernel, "write", "admin")


def commit(hub: RunningHub, repo: TestRepo, token: str, sha256: str, size: int) -> Reply:
    lines = [
        {"key": "header", "value": {"summary": "x"}},
        {
            "key": "lfsFile",
            "value": {"path": "f.so", "algo": "sha256", "oid": sha256, "size": size},
        },
    ]
    body = "\n".join(map(json.dumps, lines)).encode()
    return send(hub, "POST", f"{repo.api_path}/commit/main", body, token=token)


def test_xorb_is_refused_under_another_name(session: Session) -> None:
    name, body, _ = make_xorb(chunks(1))
    other, _, _ = make_xorb(chunks(2))
    reply = session.xorb(other, body)
    assert reply.status == 400
    assert f"hashes to {hash_text(name)}, not to {hash_text(other)}" in reply.error
    assert session.xorb(name, body[:-1]).status == 400
    assert session.xorb(name, b"").error == "the xorb holds no chunk"
    assert json.loads(session.xorb(name, body).body) == {"was_inserted": True}
    assert json.loads(session.xorb(name, body).body) == {"was_inserted": False}


def test_xorb_is_taken_without_its_footer(session: Session) -> None:
    name, body, index = make_xorb(chunks(3))
    assert session.xorb(name, body + b"XETBLOB" + bytes(100)).status == 200
    assert session.shard(whole_file(chunks(3))).status == 200
    file = whole_file(chunks(3))
    found = json.loads(session.get(f"v1/reconstructions/{hash_text(file.hash)}").body)
    [part] = found["fetch_info"][hash_text(name)]
    assert part["url_range"]["end"] == index.stored_bytes - 1


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param({"sha256": "0" * 64}, "do not have the sha256 000", id="sha256"),
        pytest.param({"hash": b"\1" * 32}, "its chunks have another hash", id="file-hash"),
        pytest.param({"proofs": 0}, "its range 0 has another hash", id="range-hash"),
        pytest.param({"end": 9}, "its range 0 does not fit the xorb", id="end"),
        pytest.param({"start": 3}, "its range 0 does not fit the xorb", id="start"),
        pytest.param({"size": 7}, "its range 0 does not fit the xorb", id="size"),
        pytest.param({"xorb": b"\2" * 32}, "was never uploaded", id="xorb"),
    ],
)
def test_shard_is_refused_when_it_lies(
    session: Session, kernel: TestRepo, version: int, change: dict[str, object], text: str
) -> None:
    hub = session.hub
    content = chunks(10 + version)
    name, body, _ = make_xorb(content)
    assert session.xorb(name, body).status == 200
    file = whole_file(content)
    (what, value), *_ = change.items()
    if what in {"sha256", "hash"}:
        file = replace(file, **{what: value})  # type: ignore[arg-type]
    elif what == "proofs":
        assert file.proofs is not None
        file = replace(file, proofs=np.zeros_like(file.proofs))
    else:
        terms = file.terms.copy()
        terms[what] = np.void(value) if isinstance(value, bytes) else value
        file = replace(file, terms=terms)
    reply = session.shard(file, version=version)
    if version == 1:
        assert reply.status == 400
        assert text in reply.error
    else:
        last = json.loads(reply.body.splitlines()[-1])
        assert (last["type"], last["retryable"]) == ("error", False)
        assert text in last["message"]
    # Whatever was claimed, a commit cannot name it.
    refused = commit(hub, kernel, hub.token, file.sha256 or "", file.size_bytes)
    assert refused.status == 400
    assert "was never uploaded" in refused.error


def test_shard_makes_a_file_that_can_be_committed(
    session: Session, hub: RunningHub, kernel: TestRepo
) -> None:
    content = chunks(20)
    name, body, index = make_xorb(content)
    session.xorb(name, body)
    data = content[1] + content[0]
    sha256 = hashlib.sha256(data).hexdigest()
    file = make_file([(name, index, 1, 2), (name, index, 0, 1)], sha256)
    lines = [json.loads(line) for line in session.shard(file, version=2).body.splitlines()]
    assert [line["type"] for line in lines] == ["validating"] * 2 + ["committing", "result"]
    assert json.loads(session.shard(file).body) == {"result": 0}  # it is known by now
    wrong = commit(hub, kernel, hub.token, sha256, len(data) + 1)
    assert wrong.error == f"'f.so' has {len(data)} bytes, not {len(data) + 1}"
    assert commit(hub, kernel, hub.token, sha256, len(data)).status == 200
    assert send(hub, "GET", f"{kernel.file_path}/resolve/main/f.so").body == data
    window = session.get(
        f"v2/reconstructions/{hash_text(file.hash)}", span=f"bytes=20010-{len(data) - 1}"
    )
    found = json.loads(window.body)
    assert found["offset_into_first_range"] == 10
    assert found["terms"] == [
        {"hash": hash_text(name), "unpacked_length": 9000, "range": {"start": 0, "end": 1}}
    ]
    past = session.get(f"v2/reconstructions/{hash_text(file.hash)}", span=f"bytes={len(data)}-")
    assert past.status == 416


@pytest.fixture
def private(api: HfApi, kernel: TestRepo, hub: RunningHub) -> TestRepo:
    """Return a private repository that holds ``SECRETS``."""
    body = json.dumps({"visibility": "private"}).encode()
    assert send(hub, "PUT", f"{kernel.api_path}/settings", body).status == 200
    session = open_session(hub, kernel, "write", "admin")
    name, xorb, _ = make_xorb(SECRETS)
    assert session.xorb(name, xorb).status == 200
    file = whole_file(SECRETS)
    assert session.shard(file).status == 200
    assert file.sha256 is not None
    assert commit(hub, kernel, hub.token, file.sha256, file.size_bytes).status == 200
    return kernel


@pytest.fixture
def own(stranger: HfApi, hub: RunningHub) -> tuple[TestRepo, str]:
    """Return a repository of somebody who may not see the private one, and their token."""
    from tests.contract.conftest import NUMBERS, TestRepo

    name = f"stranger/own-{next(NUMBERS)}"
    stranger.create_repo(name, repo_type="kernel")
    return TestRepo(id=name, kind="kernel"), make_token(hub, "stranger", "write")


def test_hashes_alone_give_nobody_a_private_file(
    private: TestRepo, own: tuple[TestRepo, str], hub: RunningHub
) -> None:
    repo, token = own
    file = whole_file(SECRETS)
    assert file.sha256 is not None
    session = open_session(hub, repo, "write", token)
    refused = session.shard(file)
    assert "was never uploaded to where you may read" in refused.error
    assert session.get(f"v2/reconstructions/{hash_text(file.hash)}").status == 404
    assert session.get(f"v1/chunks/default/{hash_text(file.hash)}").status == 404
    assert commit(hub, repo, token, file.sha256, file.size_bytes).status == 400
    batch = {"operation": "upload", "objects": [{"oid": file.sha256, "size": file.size_bytes}]}
    path = f"{repo.file_path}.git/info/lfs/objects/batch"
    asked = send(hub, "POST", path, json.dumps(batch).encode(), token=token)
    assert "actions" in json.loads(asked.body)["objects"][0], "as if nobody had the file"
    # A pointer written by hand is a text like any other.
    text = "version https://git-lfs.github.com/spec/v1\n"
    text += f"oid sha256:{file.sha256}\nsize {file.size_bytes}\n"
    lines = [
        {"key": "header", "value": {"summary": "x"}},
        {"key": "file", "value": {"path": "f.so", "content": text, "encoding": "utf-8"}},
    ]
    body = "\n".join(map(json.dumps, lines)).encode()
    assert send(hub, "POST", f"{repo.api_path}/commit/main", body, token=token).status == 200
    reply = send(hub, "GET", f"{repo.file_path}/resolve/main/f.so", token=token)
    assert reply.body == text.encode()


def test_bytes_themselves_give_a_file_to_whoever_has_them(
    private: TestRepo, own: tuple[TestRepo, str], hub: RunningHub
) -> None:
    repo, token = own
    session = open_session(hub, repo, "write", token)
    name, xorb, _ = make_xorb(SECRETS)
    assert json.loads(session.xorb(name, xorb).body) == {"was_inserted": False}
    file = whole_file(SECRETS)
    assert session.shard(file).status == 200
    assert file.sha256 is not None
    assert commit(hub, repo, token, file.sha256, file.size_bytes).status == 200


def test_tokens_are_for_one_repository_and_one_purpose(
    session: Session, hub: RunningHub, kernel: TestRepo, api: HfApi
) -> None:
    name, body, _ = make_xorb(chunks(30))
    reader = open_session(hub, kernel, "read", None)
    assert reader.xorb(name, body).status == 401
    assert Session(hub, session.token[:-4] + "AAAA").xorb(name, body).status == 401
    assert Session(hub, hub.token).xorb(name, body).status == 401
    anonymous = send(hub, "GET", f"{kernel.api_path}/xet-write-token/main", token=None)
    assert anonymous.status == 401
    missing = send(hub, "GET", f"{kernel.api_path}/xet-read-token/nowhere")
    assert missing.headers["x-error-code"] == "RevisionNotFound"
    api.delete_repo(kernel.id, repo_type="kernel")
    gone = session.xorb(name, body)
    assert (gone.status, gone.headers["x-error-code"]) == (404, "RepoNotFound")


def test_addresses_of_chunks_are_good_for_their_bytes_only(
    session: Session, hub: RunningHub
) -> None:
    content = chunks(40)
    name, body, index = make_xorb(content)
    session.xorb(name, body)
    file = make_file([(name, index, 1, 2)], None)
    assert session.shard(file).status == 200
    found = json.loads(session.get(f"v2/reconstructions/{hash_text(file.hash)}").body)
    [entry] = found["xorbs"][hash_text(name)]
    span = entry["ranges"][0]["bytes"]
    path = entry["url"].removeprefix(hub.url)
    asked = f"bytes={span['start']}-{span['end']}"
    good = send(hub, "GET", path, token=None, range=asked)
    assert (good.status, good.body) == (206, body[span["start"] : span["end"] + 1])
    assert send(hub, "GET", path, token=None, range=f"bytes=0-{span['end']}").status == 403
    assert send(hub, "GET", path, token=None).status == 403
    assert send(hub, "GET", path[:-3] + "abc", token=None, range=asked).status == 403


def test_lfs_object_is_refused_when_its_bytes_are_others(hub: RunningHub, kernel: TestRepo) -> None:
    data = b"some bytes"
    oid = hashlib.sha256(data).hexdigest()
    path = f"{kernel.file_path}.git/info/lfs"
    batch = {"operation": "upload", "objects": [{"oid": oid, "size": len(data)}]}
    reply = send(hub, "POST", f"{path}/objects/batch", json.dumps(batch).encode())
    [row] = json.loads(reply.body)["objects"]
    href = row["actions"]["upload"]["href"].removeprefix(hub.url)
    verify = row["actions"]["verify"]["href"].removeprefix(hub.url)
    assert "do not have the sha256" in send(hub, "PUT", href, b"other byte", token=None).error
    assert "9 bytes arrived" in send(hub, "PUT", href, b"too short", token=None).error
    assert send(hub, "PUT", href, data * 2, token=None).status == 413
    named = json.dumps({"oid": oid, "size": len(data)}).encode()
    assert send(hub, "POST", verify, named).status == 404
    assert send(hub, "PUT", href, data, token=None).status == 200
    assert send(hub, "POST", verify, named).status == 200
    batch["operation"] = "download"
    reply = send(hub, "POST", f"{path}/objects/batch", json.dumps(batch).encode(), token=None)
    [row] = json.loads(reply.body)["objects"]
    href = row["actions"]["download"]["href"].removeprefix(hub.url)
    assert send(hub, "GET", href, token=None).body == data
    assert send(hub, "GET", href, token=None, range="bytes=5-").body == data[5:]


def test_lfs_batch_offers_xet_to_whoever_speaks_it(hub: RunningHub, kernel: TestRepo) -> None:
    batch = {
        "operation": "upload",
        "transfers": ["basic", "multipart", "xet"],
        "objects": [{"oid": "1" * 64, "size": 5}],
    }
    path = f"{kernel.file_path}.git/info/lfs/objects/batch"
    reply = json.loads(send(hub, "POST", path, json.dumps(batch).encode()).body)
    assert reply["transfer"] == "xet"
    upload = reply["objects"][0]["actions"]["upload"]
    assert upload["href"] == upload["header"]["X-Xet-Cas-Url"] == f"{hub.url}/cas"
    name, body, _ = make_xorb(chunks(50))
    assert Session(hub, upload["header"]["X-Xet-Access-Token"]).xorb(name, body).status == 200


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param({"operation": "move"}, "unknown operation 'move'", id="operation"),
        pytest.param({"hash_algo": "md5"}, "'hash_algo' must be 'sha256'", id="hash"),
        pytest.param({"objects": [{"oid": "../x", "size": 1}]}, "is not a sha256", id="oid"),
        pytest.param(
            {"objects": [{"oid": "1" * 64, "size": -1}]}, "must be a whole number", id="size"
        ),
    ],
)
def test_lfs_batch_is_refused_when_malformed(
    hub: RunningHub, kernel: TestRepo, change: dict[str, object], text: str
) -> None:
    body = json.dumps({"operation": "upload", "objects": []} | change).encode()
    reply = send(hub, "POST", f"{kernel.file_path}.git/info/lfs/objects/batch", body)
    assert reply.status == 400
    assert text in reply.error
