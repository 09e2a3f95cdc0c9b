"""No acknowledged commit is lost, whoever writes at the same time and whatever is killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from demo.hub import serving, start, stop
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from tests.contract import committer
from tests.contract.git import materialise

if TYPE_CHECKING:
    from pathlib import Path

    from demo.hub import RunningHub
    from tests.contract.conftest import TestRepo

REPO = "acme/busy"


def start_committer(ready: Path, token: str, name: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, committer.__file__, str(ready), token, REPO, name, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(clients: list[subprocess.Popen[str]]) -> set[str]:
    titles: set[str] = set()
    for client in clients:
        output, _ = client.communicate(timeout=180)
        assert client.returncode == 0
        titles.update(output.split())
    return titles


def test_repository_is_what_git_expects(
    api: HfApi, hub: RunningHub, repo: TestRepo, tmp_path: Path
) -> None:
    big = bytes(range(256)) * 4000
    adds = [CommitOperationAdd(path, big) for path in ("a.b", "a/b", "a-b", "ä", "dir/dir/x")]
    api.create_commit(repo.id, adds, commit_message="Add", repo_type=repo.kind)
    api.create_commit(
        repo.id,
        [CommitOperationDelete("a.b"), CommitOperationAdd("dir/y", b"")],
        commit_message="Change",
        commit_description="Why\n\nand how",
        repo_type=repo.kind,
    )
    api.create_branch(repo.id, branch="v1", repo_type=repo.kind)
    api.create_tag(repo.id, tag="r1", tag_message="release", repo_type=repo.kind)
    git = materialise(hub.data, repo.kind, repo.id, tmp_path / "bare")
    git.check()
    assert git.subjects() == ["Change", "Add", "Create the repository"]
    assert git.run("ls-tree", "-r", "-z", "--name-only", "v1").split("\0")[:-1] == [
        "a-b",
        "a/b",
        "dir/dir/x",
        "dir/y",
        "ä",
    ]
    assert git.run("show", "--no-patch", "--format=%b", "main").strip() == "Why\n\nand how"
    assert "release" in git.run("cat-file", "tag", "r1")


def test_no_commit_is_lost_when_processes_write_one_branch(tmp_path: Path) -> None:
    with ExitStack() as stack:
        hubs = [stack.enter_context(serving(tmp_path, "--trust", "acme"))]
        hubs.append(stack.enter_context(serving(tmp_path, name="two")))
        HfApi(endpoint=hubs[0].url, token=hubs[0].token).create_repo(REPO, repo_type="kernel")
        clients = [
            start_committer(tmp_path / f"{name}.ready", hubs[0].token, f"{name}{i}", 8)
            for name in ("hub", "two")
            for i in range(2)
        ]
        titles = acknowledged(clients)
        for hub in hubs:
            api = HfApi(endpoint=hub.url, token=hub.token)
            assert set(api.list_repo_files(REPO, repo_type="kernel")) == titles
    git = materialise(tmp_path / "data", "kernel", REPO, tmp_path / "bare")
    git.check()
    subjects = git.subjects()
    assert len(titles) == 32
    assert sorted(subjects) == sorted([*titles, "Create the repository"])
    assert set(git.run("ls-tree", "--name-only", "main").split()) == titles


@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.long)])
def test_acknowledged_commits_survive_when_the_server_is_killed(tmp_path: Path, kills: int) -> None:
    hub = start(tmp_path, "--trust", "acme")
    try:
        HfApi(endpoint=hub.url, token=hub.token).create_repo(REPO, repo_type="kernel")
        ready = tmp_path / "hub.ready"
        clients = [start_committer(ready, hub.token, f"c{i}", 10 * kills) for i in range(2)]
        dice = random.Random(kills)
        for _ in range(kills):
            time.sleep(dice.uniform(0.05, 0.3))
            hub.process.kill()
            hub.process.wait()
            hub = start(tmp_path)
        titles = acknowledged(clients)
    finally:
        stop(hub)
    git = materialise(tmp_path / "data", "kernel", REPO, tmp_path / "bare")
    git.check()
    subjects = git.subjects()
    assert len(titles) == 2 * 10 * kills
    assert titles <= set(subjects)
    # At most one commit per client and kill was made without its answer being received.
    assert len(subjects) - 1 - len(titles) <= 2 * kills
