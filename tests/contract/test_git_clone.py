"""Clones and fetches by git and git-lfs themselves."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from huggingface_hub import CommitOperationAdd
from tests.conftest import require_program
from tests.contract.raw import send

if TYPE_CHECKING:
    from pathlib import Path

    from demo.hub import RunningHub
    from huggingface_hub import HfApi
    from tests.contract.conftest import TestRepo

LARGE = bytes(range(256)) * 2000


class Git:
    """The git program with settings of its own, and a Hub to clone from."""

    def __init__(self, home: Path, hub: RunningHub) -> None:
        self._hub = hub
        self._program = require_program("git", package="git")
        self._env = {
            **os.environ,
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
        }

    def url(self, repo: TestRepo, *, token: str = "") -> str:
        address = f"{self._hub.url}{repo.file_path}"
        return address.replace("://", f"://user:{token}@") if token else address

    def fails(self, *arguments: str | Path) -> str:
        done = self._run(*arguments)
        assert done.returncode != 0
        return done.stderr

    def __call__(self, *arguments: str | Path) -> str:
        done = self._run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [self._program, *map(str, arguments)]
        return subprocess.run(
            command, env=self._env, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture
def git(tmp_path: Path, hub: RunningHub) -> Git:
    return Git(tmp_path, hub)


def add(api: HfApi, repo: TestRepo, **files: bytes) -> str:
    adds = [CommitOperationAdd(name, data) for name, data in files.items()]
    done = api.create_commit(
        repo.id, adds, commit_message=f"Add {' '.join(files)}", repo_type=repo.kind
    )
    return str(done.oid)


@pytest.mark.parametrize("way", ["0", "2", "2.git"])
def test_clone_and_fetch_bring_what_the_api_committed(
    api: HfApi, repo: TestRepo, git: Git, tmp_path: Path, way: str
) -> None:
    old = add(api, repo, one=b"1")
    version, clone = ("-c", f"protocol.version={way[0]}"), tmp_path / "clone"
    git(*version, "clone", git.url(repo) + way[1:], clone)
    assert git("-C", clone, "rev-parse", "HEAD").strip() == old
    assert (clone / "one").read_text() == "1"
    new = add(api, repo, two=b"2" * 400_000)  # text, and too large to be kept in SQL
    api.create_tag(repo.id, tag="r1", tag_message="release", repo_type=repo.kind)
    git("-C", clone, *version, "pull", "--ff-only")
    assert git("-C", clone, "rev-parse", "HEAD").strip() == new
    assert (clone / "two").stat().st_size == 400_000
    assert git("-C", clone, "cat-file", "-t", "r1").strip() == "tag"
    git("-C", clone, "fsck", "--full", "--strict")


def test_shallow_and_partial_clones_work(
    api: HfApi, kernel: TestRepo, git: Git, tmp_path: Path
) -> None:
    first = add(api, kernel, one=b"1")
    for name in "abc":
        add(api, kernel, **{name: name.encode()})
    shallow = tmp_path / "shallow"
    git("clone", "--depth", "1", git.url(kernel), shallow)
    assert git("-C", shallow, "rev-list", "--count", "HEAD").strip() == "1"
    git("-C", shallow, "fetch", "--deepen", "2")
    assert git("-C", shallow, "rev-list", "--count", "HEAD").strip() == "3"
    partial = tmp_path / "partial"
    git("clone", "--filter=blob:none", git.url(kernel), partial)
    assert (partial / "c").read_text() == "c"
    empty = tmp_path / "empty"
    git("init", empty)
    git("-C", empty, "fetch", git.url(kernel), first)  # by its id, which no branch has
    assert git("-C", empty, "show", "FETCH_HEAD:one") == "1"


def test_large_files_come_by_git_lfs(
    api: HfApi, kernel: TestRepo, git: Git, tmp_path: Path
) -> None:
    require_program("git-lfs", package="git-lfs")
    add(api, kernel, **{".gitattributes": b"*.so filter=lfs diff=lfs merge=lfs -text\n"})
    add(api, kernel, **{"k.so": LARGE})
    clone = tmp_path / "clone"
    git("clone", git.url(kernel), clone)
    assert (clone / "k.so").read_bytes().startswith(b"version https://git-lfs")
    git("-C", clone, "lfs", "install", "--local")
    git("-C", clone, "lfs", "pull")
    assert (clone / "k.so").read_bytes() == LARGE
    assert git("-C", clone, "status", "--porcelain") == ""


def test_private_repository_needs_a_token(
    kernel: TestRepo, git: Git, hub: RunningHub, tmp_path: Path
) -> None:
    body = json.dumps({"visibility": "private"}).encode()
    assert send(hub, "PUT", f"{kernel.api_path}/settings", body).status == 200
    assert "could not read Username" in git.fails("clone", git.url(kernel), tmp_path / "no")
    git("clone", git.url(kernel, token=hub.token), tmp_path / "yes")
    reply = send(hub, "GET", f"{kernel.file_path}/info/refs?service=git-upload-pack", token=None)
    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Basic realm="kernel-hub"')


def test_push_is_refused_with_a_reason(kernel: TestRepo, hub: RunningHub) -> None:
    reply = send(hub, "GET", f"{kernel.file_path}/info/refs?service=git-receive-pack")
    assert reply.status == 403
    assert "takes no pushes: upload with the API" in reply.error


def test_wants_are_refused_when_malformed(kernel: TestRepo, hub: RunningHub) -> None:
    path = f"{kernel.file_path}/git-upload-pack"
    reply = send(hub, "POST", path, b"no gzip", Content_Encoding="gzip")
    assert (reply.status, reply.error[:27]) == (400, "the request is not gzip: Er")
    bomb = gzip.compress(bytes(80 << 20))
    assert send(hub, "POST", path, bomb, Content_Encoding="gzip").status == 413
    odd = send(hub, "GET", f"{kernel.file_path}/info/refs?service=git-upload-pack",
               Git_Protocol="version=2; rm -rf")  # fmt: skip
    assert odd.error == "the header Git-Protocol cannot be read"
    dumb = send(hub, "GET", f"{kernel.file_path}/info/refs")
    assert "smart protocol only" in dumb.error
    assert not list((hub.data / "tmp").glob("git-*"))
