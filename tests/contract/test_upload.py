"""Uploads, through the real client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    hf_hub_download,
    snapshot_download,
)
from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from demo.hub import RunningHub
    from huggingface_hub import HfApi
    from tests.contract.conftest import TestRepo

VARIANT = "build/torch-cpu"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder like the one a kernel's author publishes."""
    variant = tmp_path / "kernel" / VARIANT
    variant.mkdir(parents=True)
    (variant / "__init__.py").write_text("from ._ops import gemm\n")
    (variant / "metadata.json").write_text("{}\n")
    # Larger than what is kept in SQL, so the pack goes to the object store.
    (variant / "_gemm.abi3.so").write_bytes(os.urandom(600_000))
    (variant / "empty").touch()
    (tmp_path / "kernel" / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Kernel\n")
    return tmp_path / "kernel"


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".cache" not in path.parts
    }


def tip(api: HfApi, repo: TestRepo, revision: str) -> str | None:
    return str(api.repo_info(repo.id, repo_type=repo.kind, revision=revision).sha)


def test_folder_comes_back_as_it_went(
    api: HfApi, hub: RunningHub, repo: TestRepo, folder: Path, tmp_path: Path
) -> None:
    api.create_branch(repo.id, branch="v1", repo_type=repo.kind)
    done = api.upload_folder(
        repo_id=repo.id,
        repo_type=repo.kind,
        revision="v1",
        folder_path=folder,
        commit_message="Publish",
        commit_description="For the CPU.",
    )
    assert done.commit_url == f"{hub.url}{repo.file_path}/commit/{done.oid}"
    assert tip(api, repo, "v1") == done.oid
    snapshot = snapshot_download(
        repo.id, repo_type=repo.kind, revision="v1", endpoint=hub.url, cache_dir=tmp_path / "cache"
    )
    assert snapshot.endswith(done.oid)
    local = snapshot_download(
        repo.id, repo_type=repo.kind, revision="v1", endpoint=hub.url, local_dir=tmp_path / "local"
    )
    assert files_of(tmp_path / "local") == files_of(folder), local
    commit = api.list_repo_commits(repo.id, repo_type=repo.kind, revision="v1", formatted=True)[0]
    assert (commit.title, commit.message, commit.authors) == ("Publish", "For the CPU.", ["admin"])


def test_folder_makes_no_commit_when_nothing_changed(
    api: HfApi, repo: TestRepo, folder: Path
) -> None:
    first = api.upload_folder(repo_id=repo.id, repo_type=repo.kind, folder_path=folder)
    again = api.upload_folder(repo_id=repo.id, repo_type=repo.kind, folder_path=folder)
    assert again.oid == first.oid
    assert len(api.list_repo_commits(repo.id, repo_type=repo.kind)) == 2


def test_folder_replaces_stale_files_when_it_has_delete_patterns(
    api: HfApi, repo: TestRepo, folder: Path
) -> None:
    api.upload_folder(repo_id=repo.id, repo_type=repo.kind, folder_path=folder)
    (folder / VARIANT / "_gemm.abi3.so").rename(folder / VARIANT / "_gemm_2.abi3.so")
    api.upload_folder(
        repo_id=repo.id,
        repo_type=repo.kind,
        folder_path=folder / VARIANT,
        path_in_repo=VARIANT,
        delete_patterns="*",
    )
    assert sorted(api.list_repo_files(repo.id, repo_type=repo.kind)) == sorted(files_of(folder))


def test_commit_applies_its_operations_in_order(api: HfApi, repo: TestRepo) -> None:
    for path in ("keep.txt", "old/a.txt", "old/deep/b.txt", "gone.txt"):
        api.upload_file(
            path_or_fileobj=path.encode(), path_in_repo=path, repo_id=repo.id, repo_type=repo.kind
        )
    api.create_commit(
        repo.id,
        [
            CommitOperationDelete("old/"),
            CommitOperationDelete("gone.txt"),
            CommitOperationAdd("old/c.txt", b"c"),
            CommitOperationCopy("keep.txt", "copy.txt"),
        ],
        commit_message="Tidy",
        repo_type=repo.kind,
    )
    files = api.list_repo_files(repo.id, repo_type=repo.kind)
    assert sorted(files) == ["copy.txt", "keep.txt", "old/c.txt"]


def test_delete_leaves_no_empty_folder(api: HfApi, repo: TestRepo) -> None:
    api.upload_file(
        path_or_fileobj=b"x", path_in_repo="a/b/c.txt", repo_id=repo.id, repo_type=repo.kind
    )
    api.delete_file("a/b/c.txt", repo.id, repo_type=repo.kind)
    assert list(api.list_repo_tree(repo.id, recursive=True, repo_type=repo.kind)) == []


def test_commit_is_refused_when_its_parent_is_stale(api: HfApi, repo: TestRepo) -> None:
    stale = tip(api, repo, "main")
    api.upload_file(path_or_fileobj=b"1", path_in_repo="a", repo_id=repo.id, repo_type=repo.kind)
    with pytest.raises(HfHubHTTPError, match="fetch and try again") as caught:
        api.create_commit(
            repo.id,
            [CommitOperationAdd("b", b"2")],
            commit_message="Late",
            parent_commit=stale,
            repo_type=repo.kind,
        )
    assert caught.value.response.status_code == 412
    assert api.list_repo_files(repo.id, repo_type=repo.kind) == ["a"]


def test_delete_is_not_found_when_the_file_is_missing(api: HfApi, repo: TestRepo) -> None:
    with pytest.raises(EntryNotFoundError, match="A file with this name doesn't exist"):
        api.delete_file("nothing.txt", repo.id, repo_type=repo.kind)


def test_upload_is_not_found_when_the_branch_or_repo_is_missing(
    api: HfApi, repo: TestRepo, folder: Path
) -> None:
    with pytest.raises(RevisionNotFoundError):
        api.upload_folder(
            repo_id=repo.id, repo_type=repo.kind, folder_path=folder, revision="nothing"
        )
    with pytest.raises(RepositoryNotFoundError):
        api.upload_folder(repo_id=f"{repo.id}-no", repo_type=repo.kind, folder_path=folder)


def test_upload_is_forbidden_to_strangers_and_readers(
    api: HfApi, stranger: HfApi, anonymous: HfApi, repo: TestRepo
) -> None:
    before = tip(api, repo, "main")
    for client, text in (
        (stranger, "'stranger' may not write to the namespace 'acme'"),
        (anonymous, "a token is needed to write"),
    ):
        with pytest.raises(HfHubHTTPError, match=text):
            client.upload_file(
                path_or_fileobj=b"x", path_in_repo="x", repo_id=repo.id, repo_type=repo.kind
            )
    assert tip(api, repo, "main") == before


def test_upload_refuses_bytecode(api: HfApi, kernel: TestRepo, folder: Path) -> None:
    (folder / VARIANT / "__pycache__").mkdir()
    (folder / VARIANT / "__pycache__" / "x.cpython-311.pyc").write_bytes(b"\0")
    with pytest.raises(BadRequestError, match="it is Python bytecode, which is not published"):
        api.upload_folder(repo_id=kernel.id, repo_type="kernel", folder_path=folder)
    assert api.list_repo_files(kernel.id, repo_type="kernel") == []


def test_upload_refuses_a_file_in_the_place_of_a_folder(api: HfApi, kernel: TestRepo) -> None:
    api.upload_file(path_or_fileobj=b"x", path_in_repo="a/b", repo_id=kernel.id, repo_type="kernel")
    for path, text in (("a", "it is a folder"), ("a/b/c", "'a/b' is a file")):
        with pytest.raises(BadRequestError, match=f"cannot write '{path}': {text}"):
            api.upload_file(
                path_or_fileobj=b"y", path_in_repo=path, repo_id=kernel.id, repo_type="kernel"
            )


def test_card_is_refused_when_its_metadata_is_not_yaml(api: HfApi, kernel: TestRepo) -> None:
    with pytest.raises(ValueError, match="the metadata block is not valid YAML"):
        api.upload_file(
            path_or_fileobj=b"---\nlicense: [mit\n---\n",
            path_in_repo="README.md",
            repo_id=kernel.id,
            repo_type="kernel",
        )


def test_large_binary_comes_back_as_it_went(
    api: HfApi, hub: RunningHub, kernel: TestRepo, tmp_path: Path
) -> None:
    source = tmp_path / "weights.bin"
    # Half noise, half text: both ways of storing are used, and 40 MB exceed every buffer.
    source.write_bytes(os.urandom(20_000_000) + b"kernel " * 2_900_000)
    api.upload_file(
        path_or_fileobj=source, path_in_repo="w/weights.bin", repo_id=kernel.id, repo_type="kernel"
    )
    path = hf_hub_download(
        kernel.id,
        "w/weights.bin",
        repo_type="kernel",
        endpoint=hub.url,
        cache_dir=tmp_path / "cache",
    )
    with open(path, "rb") as copy:  # noqa: PTH123 - the client gives a str
        assert copy.read() == source.read_bytes()


def test_many_files_arrive_when_the_client_splits_them(
    api: HfApi, kernel: TestRepo, tmp_path: Path
) -> None:
    for i in range(300):
        (tmp_path / f"f{i:03}.txt").write_text(f"file {i}")
    api.upload_folder(repo_id=kernel.id, repo_type="kernel", folder_path=tmp_path)
    files = api.list_repo_files(kernel.id, repo_type="kernel")
    assert len(files) == 300
