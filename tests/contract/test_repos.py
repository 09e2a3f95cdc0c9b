"""Repositories as wholes, through the real client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from tests.contract.conftest import ORG
from tests.contract.raw import send

if TYPE_CHECKING:
    from demo.hub import RunningHub
    from huggingface_hub import HfApi
    from tests.contract.conftest import TestRepo


def test_create_returns_the_same_url_when_it_exists(
    api: HfApi, repo: TestRepo, hub: RunningHub
) -> None:
    again = api.create_repo(repo.id, repo_type=repo.kind, exist_ok=True)
    assert str(again) == hub.url + repo.file_path
    assert again.repo_id == repo.id


def test_create_is_a_conflict_when_it_exists(api: HfApi, repo: TestRepo) -> None:
    with pytest.raises(HfHubHTTPError, match="already created this") as caught:
        api.create_repo(repo.id.upper(), repo_type=repo.kind)
    assert caught.value.response.status_code == 409


def test_new_repo_has_main_with_one_commit(api: HfApi, repo: TestRepo) -> None:
    commits = api.list_repo_commits(repo.id, repo_type=repo.kind)
    assert [commit.title for commit in commits] == ["Create the repository"]
    assert api.list_repo_files(repo.id, repo_type=repo.kind) == []


def test_create_is_forbidden_when_the_namespace_is_anothers(stranger: HfApi) -> None:
    with pytest.raises(HfHubHTTPError, match="'stranger' may not write to the namespace 'acme'"):
        stranger.create_repo(f"{ORG}/mine", repo_type="kernel")


def test_create_is_forbidden_when_nobody_has_the_namespace(api: HfApi) -> None:
    with pytest.raises(HfHubHTTPError, match="there is no namespace 'nobody' on this Hub"):
        api.create_repo("nobody/kernel", repo_type="kernel")


def test_create_uses_the_users_own_namespace_when_none_is_given(stranger: HfApi) -> None:
    assert stranger.create_repo("own", repo_type="kernel").repo_id == "stranger/own"


def test_create_says_so_when_the_kind_is_unknown(api: HfApi) -> None:
    with pytest.raises(HfHubHTTPError, match="this Hub has no repositories of type 'dataset'"):
        api.create_repo(f"{ORG}/data", repo_type="dataset")


def test_delete_removes_and_is_not_found_twice(api: HfApi, repo: TestRepo) -> None:
    api.delete_repo(repo.id, repo_type=repo.kind)
    with pytest.raises(RepositoryNotFoundError):
        api.delete_repo(repo.id, repo_type=repo.kind)
    api.delete_repo(repo.id, repo_type=repo.kind, missing_ok=True)


def test_move_keeps_the_files(api: HfApi, repo: TestRepo) -> None:
    api.upload_file(
        path_or_fileobj=b"x", path_in_repo="a.txt", repo_id=repo.id, repo_type=repo.kind
    )
    api.move_repo(repo.id, f"{repo.id}-moved", repo_type=repo.kind)
    assert api.list_repo_files(f"{repo.id}-moved", repo_type=repo.kind) == ["a.txt"]
    assert not api.repo_exists(repo.id, repo_type=repo.kind)


def test_private_repo_is_hidden_from_others(
    api: HfApi, anonymous: HfApi, stranger: HfApi, repo: TestRepo
) -> None:
    name = f"{repo.id}-private"
    api.create_repo(name, repo_type=repo.kind, private=True)
    assert api.repo_info(name, repo_type=repo.kind).private is True
    for other in (anonymous, stranger):
        with pytest.raises(RepositoryNotFoundError):
            other.repo_info(name, repo_type=repo.kind)
        with pytest.raises(RepositoryNotFoundError):
            other.list_repo_refs(name, repo_type=repo.kind)


def test_private_repo_becomes_visible_when_its_settings_say_so(
    api: HfApi, anonymous: HfApi
) -> None:
    name = f"{ORG}/hidden-model"
    api.create_repo(name, private=True)
    listed = {model.id for model in anonymous.list_models(author=ORG)}
    assert name not in listed
    assert name in {model.id for model in api.list_models(author=ORG)}
    api.update_repo_settings(name, visibility="public")
    assert name in {model.id for model in anonymous.list_models(author=ORG)}


def test_auth_check_tells_readers_from_writers(
    api: HfApi, anonymous: HfApi, stranger: HfApi
) -> None:
    name = f"{ORG}/checked"
    api.create_repo(name)
    anonymous.auth_check(name)
    api.auth_check(name, write=True)
    with pytest.raises(HfHubHTTPError, match="may not write to the namespace"):
        stranger.auth_check(name, write=True)


def test_list_gives_each_repo_once_when_it_has_pages(api: HfApi, hub: RunningHub) -> None:
    names = {f"{ORG}/page-{i}" for i in range(5)}
    for name in names:
        api.create_repo(name, repo_type="kernel")
    url, found = "/api/kernels?search=page-&limit=2", []
    while url:
        reply = send(hub, "GET", url)
        found += [item["id"] for item in json.loads(reply.body)]
        link = reply.headers.get("link", "")
        url = link.removeprefix(f"<{hub.url}").partition(">")[0]
    assert found == sorted(names)
