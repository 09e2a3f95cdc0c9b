"""Trees, files and history, through the real client."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from huggingface_hub import CommitOperationAdd, RepoFile, RepoFolder, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from tests.contract.raw import send

if TYPE_CHECKING:
    from pathlib import Path

    from demo.hub import RunningHub
    from huggingface_hub import HfApi
    from tests.contract.conftest import TestRepo

FILES = {
    "README.md": b"# Kernel\n",
    "build/a/__init__.py": b"",
    "build/a/k.so": bytes(range(256)) * 8000,
    "build/b/k.so": b"b",
    "name with space & ümlaut.txt": b"u",
}
BIG = "build/a/k.so"


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def git_id(path: str) -> str:
    """Return the id of what git stores: of a large file, a pointer to it."""
    data = FILES[path]
    if path == BIG:
        sha256 = hashlib.sha256(data).hexdigest()
        spec = "version https://git-lfs.github.com/spec/v1"
        data = f"{spec}\noid sha256:{sha256}\nsize {len(data)}\n".encode()
    return blob_id(data)


@pytest.fixture
def filled(api: HfApi, repo: TestRepo) -> TestRepo:
    """Return a repository that holds ``FILES``."""
    operations = [CommitOperationAdd(path, data) for path, data in FILES.items()]
    api.create_commit(repo.id, operations, commit_message="Fill", repo_type=repo.kind)
    return repo


def test_tree_lists_files_and_folders_when_recursive(api: HfApi, filled: TestRepo) -> None:
    found = list(api.list_repo_tree(filled.id, recursive=True, repo_type=filled.kind))
    files = {e.path: (e.size, e.blob_id) for e in found if isinstance(e, RepoFile)}
    assert files == {path: (len(data), git_id(path)) for path, data in FILES.items()}
    folders = {e.path for e in found if isinstance(e, RepoFolder)}
    assert folders == {"build", "build/a", "build/b"}


def test_tree_lists_one_folder(api: HfApi, filled: TestRepo) -> None:
    found = api.list_repo_tree(filled.id, "build", repo_type=filled.kind)
    assert [entry.path for entry in found] == ["build/a", "build/b"]
    with pytest.raises(EntryNotFoundError, match="'build/c' does not exist"):
        list(api.list_repo_tree(filled.id, "build/c", repo_type=filled.kind))
    with pytest.raises(EntryNotFoundError, match=r"'README.md' is not a folder"):
        list(api.list_repo_tree(filled.id, "README.md", repo_type=filled.kind))


def test_tree_names_the_last_commit_when_expanded(api: HfApi, filled: TestRepo) -> None:
    api.upload_file(
        path_or_fileobj=b"2",
        path_in_repo="build/b/k.so",
        repo_id=filled.id,
        repo_type=filled.kind,
        commit_message="Change b",
    )
    found = api.list_repo_tree(filled.id, recursive=True, expand=True, repo_type=filled.kind)
    last = {entry.path: entry.last_commit.title for entry in found if entry.last_commit}
    assert last == {
        **dict.fromkeys(FILES, "Fill"),
        "build/a": "Fill",
        "build": "Change b",
        "build/b": "Change b",
        "build/b/k.so": "Change b",
    }


def test_tree_gives_each_entry_once_when_it_has_pages(
    api: HfApi, filled: TestRepo, hub: RunningHub
) -> None:
    url, found = f"{filled.api_path}/tree/main?recursive=true&limit=3", []
    while url:
        reply = send(hub, "GET", url)
        found += [entry["path"] for entry in json.loads(reply.body)]
        url = reply.headers.get("link", "").removeprefix(f"<{hub.url}").partition(">")[0]
    assert sorted(found) == sorted([*FILES, "build", "build/a", "build/b"])


def test_paths_info_leaves_out_what_is_missing(api: HfApi, filled: TestRepo) -> None:
    paths = ["README.md", "build", "nothing", "name with space & ümlaut.txt"]
    found = api.get_paths_info(filled.id, paths, repo_type=filled.kind)
    assert [entry.path for entry in found] == [p for p in paths if p != "nothing"]


def test_info_lists_the_files_with_their_ids(api: HfApi, filled: TestRepo, hub: RunningHub) -> None:
    assert api.repo_info(filled.id, repo_type=filled.kind).author == "acme"
    # The client types the files of models only, so both kinds are read as they were sent.
    reply = send(hub, "GET", f"{filled.api_path}/revision/main?blobs=true")
    listed = {f["rfilename"]: (f["size"], f["blobId"]) for f in json.loads(reply.body)["siblings"]}
    assert listed == {path: (len(data), git_id(path)) for path, data in FILES.items()}


def test_download_follows_revisions(
    api: HfApi, filled: TestRepo, hub: RunningHub, tmp_path: Path
) -> None:
    for path, data in FILES.items():
        local = hf_hub_download(
            filled.id, path, repo_type=filled.kind, endpoint=hub.url, cache_dir=tmp_path
        )
        with open(local, "rb") as file:  # noqa: PTH123 - the client gives a str
            assert file.read() == data


def test_head_says_all_and_sends_nothing(filled: TestRepo, hub: RunningHub) -> None:
    reply = send(hub, "HEAD", f"{filled.file_path}/resolve/main/{BIG}")
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-length"] == str(len(FILES[BIG]))
    assert reply.headers["etag"] == f'"{hashlib.sha256(FILES[BIG]).hexdigest()}"'
    assert len(reply.headers["x-repo-commit"]) == 40
    assert reply.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize(
    ("asked", "span"),
    [
        pytest.param("bytes=0-9", slice(0, 10), id="first-ten"),
        pytest.param("bytes=1999990-", slice(1_999_990, None), id="rest"),
        pytest.param("bytes=-7", slice(-7, None), id="last-seven"),
        pytest.param("bytes=262140-262150", slice(262_140, 262_151), id="across-pieces"),
        pytest.param("bytes=5-99999999", slice(5, None), id="past-the-end"),
    ],
)
def test_get_sends_the_range_it_is_asked_for(
    filled: TestRepo, hub: RunningHub, asked: str, span: slice
) -> None:
    data = FILES[BIG]
    reply = send(hub, "GET", f"{filled.file_path}/resolve/main/{BIG}", Range=asked)
    start, stop, _ = span.indices(len(data))
    assert reply.status == 206
    assert reply.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(data)}"
    assert reply.body == data[span]


def test_get_is_not_satisfiable_when_the_range_starts_past_the_end(
    filled: TestRepo, hub: RunningHub
) -> None:
    reply = send(hub, "GET", f"{filled.file_path}/resolve/main/{BIG}", Range="bytes=9999999-")
    assert (reply.status, reply.headers["content-range"]) == (416, f"bytes */{len(FILES[BIG])}")


def test_get_sends_all_when_the_range_is_of_another_file(filled: TestRepo, hub: RunningHub) -> None:
    path = f"{filled.file_path}/resolve/main/README.md"
    reply = send(hub, "GET", path, Range="bytes=0-1", If_Range='"other"')
    assert (reply.status, reply.body) == (200, FILES["README.md"])
    etag = reply.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        assert send(hub, "GET", path, If_None_Match=known).status == 304


def test_download_is_not_found_by_its_own_kind_of_error(
    api: HfApi, filled: TestRepo, hub: RunningHub, tmp_path: Path
) -> None:
    def download(repo: str, path: str, revision: str) -> None:
        api.hf_hub_download(
            repo, path, repo_type=filled.kind, revision=revision, cache_dir=tmp_path
        )

    with pytest.raises(RemoteEntryNotFoundError, match="Entry Not Found"):
        download(filled.id, "nothing", "main")
    assert list(tmp_path.rglob(".no_exist/*/nothing"))
    with pytest.raises(RemoteEntryNotFoundError, match="Entry Not Found"):
        download(filled.id, "build", "main")
    with pytest.raises(RevisionNotFoundError, match="Revision Not Found"):
        download(filled.id, "README.md", "nothing")
    with pytest.raises(RepositoryNotFoundError, match="Repository Not Found"):
        download(f"{filled.id}-no", "README.md", "main")


def test_missing_repo_is_the_same_for_everybody(
    api: HfApi, anonymous: HfApi, kernel: TestRepo
) -> None:
    for client in (api, anonymous):
        for name in (f"{kernel.id}-no", "unnamespaced"):
            with pytest.raises(RepositoryNotFoundError):
                client.list_repo_tree(name, repo_type="kernel").__iter__().__next__()
            with pytest.raises(RepositoryNotFoundError):
                client.model_info(name)


def test_bad_token_is_not_a_missing_repo(hub: RunningHub, kernel: TestRepo) -> None:
    from huggingface_hub import HfApi

    with pytest.raises(HfHubHTTPError, match="Invalid credentials in Authorization") as caught:
        HfApi(endpoint=hub.url, token="hf_wrong").repo_info(kernel.id, repo_type="kernel")
    assert not isinstance(caught.value, RepositoryNotFoundError)


def test_file_url_of_the_client_is_served(filled: TestRepo, hub: RunningHub, api: HfApi) -> None:
    url = hf_hub_url(filled.id, "build/b/k.so", repo_type=filled.kind, endpoint=hub.url)
    assert send(hub, "GET", url.removeprefix(hub.url)).body == b"b"
    assert api.file_exists(filled.id, "build/b/k.so", repo_type=filled.kind)
    assert not api.file_exists(filled.id, "build/c", repo_type=filled.kind)
