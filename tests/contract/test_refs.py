"""Branches and tags, through the real client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from huggingface_hub.errors import BadRequestError, HfHubHTTPError, RevisionNotFoundError

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from tests.contract.conftest import TestRepo


def tip(api: HfApi, repo: TestRepo, revision: str = "main") -> str:
    sha = api.repo_info(repo.id, repo_type=repo.kind, revision=revision).sha
    assert sha is not None
    return sha


def upload(api: HfApi, repo: TestRepo, text: str, revision: str = "main") -> str:
    return api.upload_file(
        path_or_fileobj=text.encode(),
        path_in_repo="file.txt",
        repo_id=repo.id,
        repo_type=repo.kind,
        revision=revision,
    ).oid


def test_branch_starts_where_it_is_told(api: HfApi, repo: TestRepo) -> None:
    first = tip(api, repo)
    upload(api, repo, "second")
    api.create_branch(repo.id, branch="old", revision=first, repo_type=repo.kind)
    api.create_branch(repo.id, branch="new", repo_type=repo.kind)
    refs = api.list_repo_refs(repo.id, repo_type=repo.kind, include_pull_requests=True)
    assert {branch.name: branch.target_commit for branch in refs.branches} == {
        "main": tip(api, repo),
        "new": tip(api, repo),
        "old": first,
    }
    assert refs.pull_requests == []


def test_branch_is_a_conflict_when_it_exists(api: HfApi, kernel: TestRepo) -> None:
    api.create_branch(kernel.id, branch="v1", repo_type="kernel")
    with pytest.raises(HfHubHTTPError, match="Reference already exists: 'refs/heads/v1'"):
        api.create_branch(kernel.id, branch="v1", repo_type="kernel")
    api.create_branch(kernel.id, branch="v1", repo_type="kernel", exist_ok=True)


def test_branch_is_a_conflict_when_a_folder_of_its_name_exists(
    api: HfApi, kernel: TestRepo
) -> None:
    api.create_branch(kernel.id, branch="a/b", repo_type="kernel")
    for name in ("a", "a/b/c"):
        with pytest.raises(HfHubHTTPError, match="Reference already exists: 'refs/heads/a/b'"):
            api.create_branch(kernel.id, branch=name, repo_type="kernel")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("refs/heads/x", "it starts with 'refs/'", id="full-reference"),
        pytest.param("a..b", "git refuses it", id="two-dots"),
        pytest.param("with space", "git refuses it", id="space"),
        pytest.param("x.lock", "git refuses it", id="lock"),
        pytest.param("0" * 40, "it looks like a commit id", id="commit-id"),
    ],
)
def test_branch_is_refused_when_git_would(
    api: HfApi, kernel: TestRepo, name: str, why: str
) -> None:
    with pytest.raises(BadRequestError, match=f"cannot name a branch: {why}"):
        api.create_branch(kernel.id, branch=name, repo_type="kernel")


def test_branch_with_a_slash_is_one_part_of_the_path(api: HfApi, repo: TestRepo) -> None:
    api.create_branch(repo.id, branch="feature/x%2F1", repo_type=repo.kind)
    commit = upload(api, repo, "here", revision="feature/x%2F1")
    assert tip(api, repo, "feature/x%2F1") == commit
    assert tip(api, repo, "refs/heads/feature/x%2F1") == commit
    api.delete_branch(repo.id, branch="feature/x%2F1", repo_type=repo.kind)
    with pytest.raises(RevisionNotFoundError):
        tip(api, repo, "feature/x%2F1")


def test_main_cannot_be_deleted(api: HfApi, kernel: TestRepo) -> None:
    with pytest.raises(HfHubHTTPError, match="the branch 'main' cannot be deleted"):
        api.delete_branch(kernel.id, branch="main", repo_type="kernel")


def test_deleted_branch_keeps_its_commits(api: HfApi, kernel: TestRepo) -> None:
    api.create_branch(kernel.id, branch="v1", repo_type="kernel")
    commit = upload(api, kernel, "kept", revision="v1")
    api.delete_branch(kernel.id, branch="v1", repo_type="kernel")
    assert api.list_repo_files(kernel.id, repo_type="kernel", revision=commit) == ["file.txt"]
    with pytest.raises(RevisionNotFoundError):
        api.delete_branch(kernel.id, branch="v1", repo_type="kernel")


@pytest.mark.parametrize("message", [None, "first release"], ids=["light", "annotated"])
def test_tag_stands_for_its_commit(api: HfApi, repo: TestRepo, message: str | None) -> None:
    commit = upload(api, repo, "tagged")
    api.create_tag(repo.id, tag="r1", tag_message=message, repo_type=repo.kind)
    upload(api, repo, "later")
    refs = api.list_repo_refs(repo.id, repo_type=repo.kind)
    assert [(tag.ref, tag.target_commit) for tag in refs.tags] == [("refs/tags/r1", commit)]
    assert tip(api, repo, "r1") == commit
    with pytest.raises(HfHubHTTPError, match="Reference already exists: 'refs/tags/r1'"):
        api.create_tag(repo.id, tag="r1", tag_message=message, repo_type=repo.kind)
    api.delete_tag(repo.id, tag="r1", repo_type=repo.kind)
    with pytest.raises(RevisionNotFoundError):
        tip(api, repo, "r1")


def test_tag_cannot_be_committed_to(api: HfApi, kernel: TestRepo) -> None:
    api.create_tag(kernel.id, tag="fixed", repo_type="kernel")
    before = tip(api, kernel, "fixed")
    for revision in ("refs/tags/fixed", before):
        with pytest.raises(RevisionNotFoundError, match="is not a branch of"):
            upload(api, kernel, "new", revision=revision)
    assert tip(api, kernel, "fixed") == before


def test_short_commit_id_is_a_revision(api: HfApi, kernel: TestRepo) -> None:
    commit = upload(api, kernel, "x")
    assert tip(api, kernel, commit[:9]) == commit
