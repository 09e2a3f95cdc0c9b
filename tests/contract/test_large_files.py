"""Large files, through the real client with Xet and without."""

from __future__ import annotations

import hashlib
import random
import re
import time
from typing import TYPE_CHECKING

import pytest
from demo.hub import serving
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    HfApi,
    RepoFile,
    constants,
    hf_hub_download,
    snapshot_download,
)
from tests.contract.git import materialise
from tests.contract.raw import send
from tests.contract.uploader import finish, upload_from_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from demo.hub import RunningHub
    from tests.contract.conftest import TestRepo

LIBRARY = "build/torch-cpu/_gemm.abi3.so"
BYTES = 20_000_000
# The client's LFS upload calls its HTTP library in a way that the library is phasing out.
DATA_WARNING = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")


def library(seed: int = 0) -> bytes:
    """Return 20 MB that look like a kernel: half noise, half what compresses."""
    dice = random.Random(seed)
    return b"\x7fELF" + dice.randbytes(BYTES // 2) + b"push rbp; mov rbp, rsp; " * 416_666


def next_build(old: bytes) -> bytes:
    """Return the next build: a new head, some bytes more inside, and all the rest as it was."""
    dice = random.Random(1)
    middle = len(old) // 3
    return dice.randbytes(64) + old[64:middle] + dice.randbytes(20_000) + old[middle:]


def write_kernel(folder: Path, content: bytes) -> Path:
    file = folder / LIBRARY
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    (file.parent / "__init__.py").write_text("from ._ops import gemm\n")
    return folder


def stored_bytes(hub: RunningHub) -> int:
    """Return what the store of large files takes on disk."""
    return sum(p.stat().st_size for p in (hub.data / "objects/xorbs").rglob("*") if p.is_file())


def download(hub: RunningHub, repo: TestRepo, path: str, cache: Path) -> bytes:
    local = hf_hub_download(
        repo.id, path, repo_type=repo.kind, endpoint=hub.url, token=hub.token, cache_dir=cache
    )
    with open(local, "rb") as file:  # noqa: PTH123 - the client gives a str
        return file.read()


@pytest.fixture
def own_hub(tmp_path: Path) -> Iterator[RunningHub]:
    """Return a Hub with a store of its own, whose log says what was sent."""
    with serving(tmp_path / "own", "--trust", "acme", "-v") as running:
        HfApi(endpoint=running.url, token=running.token).create_repo("acme/k", repo_type="kernel")
        yield running


@pytest.fixture
def without_xet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)


@pytest.fixture
def filled(api: HfApi, repo: TestRepo, tmp_path: Path) -> TestRepo:
    """Return a repository that hf-xet has uploaded to."""
    folder = write_kernel(tmp_path / "kernel", library())
    api.upload_folder(repo_id=repo.id, repo_type=repo.kind, folder_path=folder)
    return repo


def test_xet_upload_comes_back_by_xet_and_without(
    hub: RunningHub, filled: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert download(hub, filled, LIBRARY, tmp_path / "xet") == library()
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    assert download(hub, filled, LIBRARY, tmp_path / "plain") == library()
    log = (hub.data.parent / "hub.log").read_text()
    assert "/cas/v2/reconstructions/" in log
    assert re.search(rf"GET \S*{filled.id}/resolve/\S+{LIBRARY} 200", log)


@DATA_WARNING
@pytest.mark.usefixtures("without_xet")
def test_lfs_upload_comes_back_by_xet(
    api: HfApi, hub: RunningHub, kernel: TestRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = library(seed=7)
    folder = write_kernel(tmp_path / "kernel", content)
    api.upload_folder(repo_id=kernel.id, repo_type="kernel", folder_path=folder)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    assert download(hub, kernel, LIBRARY, tmp_path / "xet") == content
    snapshot = snapshot_download(
        kernel.id, repo_type="kernel", endpoint=hub.url, local_dir=tmp_path / "local"
    )
    assert (tmp_path / "local" / LIBRARY).read_bytes() == content, snapshot


@DATA_WARNING
@pytest.mark.usefixtures("without_xet")
def test_lfs_upload_in_parts_comes_back(
    api: HfApi, hub: RunningHub, kernel: TestRepo, tmp_path: Path
) -> None:
    content = library(seed=8) * 2  # more than one part of 32 MiB
    api.upload_file(
        path_or_fileobj=content, path_in_repo="a.bin", repo_id=kernel.id, repo_type="kernel"
    )
    assert "PUT /lfs/part 200" in (hub.data.parent / "hub.log").read_text()
    assert download(hub, kernel, "a.bin", tmp_path) == content
    assert not list((hub.data / "objects/parts").rglob("*/1"))


def test_listings_say_what_a_large_file_is(api: HfApi, filled: TestRepo, hub: RunningHub) -> None:
    sha256 = hashlib.sha256(library()).hexdigest()
    [found] = api.get_paths_info(filled.id, [LIBRARY], repo_type=filled.kind)
    assert isinstance(found, RepoFile)
    assert found.lfs is not None
    assert (found.size, found.lfs.sha256, found.lfs.size) == (
        len(library()),
        sha256,
        len(library()),
    )
    assert found.xet_hash is not None
    head = send(hub, "HEAD", f"{filled.file_path}/resolve/main/{LIBRARY}")
    assert head.headers["x-linked-etag"] == f'"{sha256}"'
    assert head.headers["x-linked-size"] == str(len(library()))
    assert head.headers["x-xet-hash"] == found.xet_hash
    small = send(hub, "HEAD", f"{filled.file_path}/resolve/main/build/torch-cpu/__init__.py")
    assert "x-xet-hash" not in small.headers


@pytest.mark.parametrize(
    ("asked", "span"),
    [
        pytest.param("bytes=0-3", slice(0, 4), id="first"),
        pytest.param("bytes=131072-131080", slice(131072, 131081), id="inside"),
        pytest.param("bytes=9999990-10400000", slice(9_999_990, 10_400_001), id="across-chunks"),
        pytest.param("bytes=-7", slice(-7, None), id="last"),
    ],
)
def test_resolve_sends_ranges_of_large_files(
    filled: TestRepo, hub: RunningHub, asked: str, span: slice
) -> None:
    reply = send(hub, "GET", f"{filled.file_path}/resolve/main/{LIBRARY}", range=asked)
    assert reply.status == 206
    assert reply.body == library()[span]


def test_git_sees_a_pointer(filled: TestRepo, hub: RunningHub, tmp_path: Path) -> None:
    git = materialise(hub.data, filled.kind, filled.id, tmp_path / "bare")
    git.check()
    sha256 = hashlib.sha256(library()).hexdigest()
    assert git.run("show", f"main:{LIBRARY}") == (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(library())}\n"
    )


def test_unchanged_large_file_makes_no_commit(api: HfApi, filled: TestRepo, tmp_path: Path) -> None:
    before = api.repo_info(filled.id, repo_type=filled.kind).sha
    api.upload_folder(repo_id=filled.id, repo_type=filled.kind, folder_path=tmp_path / "kernel")
    assert api.repo_info(filled.id, repo_type=filled.kind).sha == before


def test_large_file_is_copied_without_its_bytes(
    api: HfApi, hub: RunningHub, filled: TestRepo, tmp_path: Path
) -> None:
    copy = CommitOperationCopy(LIBRARY, "copy.so")
    api.create_commit(filled.id, [copy], commit_message="Copy", repo_type=filled.kind)
    assert download(hub, filled, "copy.so", tmp_path / "cache") == library()


def test_attributes_decide_which_files_are_large(
    api: HfApi, kernel: TestRepo, tmp_path: Path
) -> None:
    rules = b"*.txt filter=lfs diff=lfs merge=lfs -text\n*.raw -filter\n"
    api.create_commit(
        kernel.id,
        [CommitOperationAdd(".gitattributes", rules)],
        commit_message="Rules",
        repo_type="kernel",
    )
    adds = [CommitOperationAdd("a.txt", b"text"), CommitOperationAdd("a.raw", b"\0\1")]
    adds += [CommitOperationAdd("a.bin", b"\0\1"), CommitOperationAdd("a.md", "ä".encode())]
    api.create_commit(kernel.id, adds, commit_message="Add", repo_type="kernel")
    files = api.list_repo_tree(kernel.id, repo_type="kernel")
    large = {f.path for f in files if isinstance(f, RepoFile) and f.lfs is not None}
    assert large == {"a.txt", "a.bin"}


def test_next_build_sends_only_what_is_new_from_whatever_machine(
    own_hub: RunningHub, tmp_path: Path
) -> None:
    first = write_kernel(tmp_path / "one", library())
    finish(upload_from_elsewhere(own_hub, "acme/k", first, tmp_path / "home1"))
    size = stored_bytes(own_hub)
    assert size < 0.6 * BYTES  # half of it compresses well
    second = write_kernel(tmp_path / "two", next_build(library()))
    # A new home: this client has no memory of the first upload and must learn from the Hub.
    finish(upload_from_elsewhere(own_hub, "acme/k", second, tmp_path / "home2"))
    assert stored_bytes(own_hub) - size < 600_000


def test_next_build_is_stored_once_when_it_comes_by_lfs(
    own_hub: RunningHub, tmp_path: Path
) -> None:
    first = write_kernel(tmp_path / "one", library())
    finish(upload_from_elsewhere(own_hub, "acme/k", first, tmp_path / "home1"))
    size = stored_bytes(own_hub)
    second = write_kernel(tmp_path / "two", next_build(library()))
    home = tmp_path / "home2"
    finish(upload_from_elsewhere(own_hub, "acme/k", second, home, HF_HUB_DISABLE_XET="1"))
    assert "PUT /lfs/put 200" in (own_hub.data.parent / "hub.log").read_text()
    assert stored_bytes(own_hub) - size < 600_000


@pytest.mark.long
def test_interrupted_upload_goes_on_where_it_stopped(own_hub: RunningHub, tmp_path: Path) -> None:
    content = random.Random(3).randbytes(150_000_000)  # three xorbs
    folder = write_kernel(tmp_path / "kernel", content)
    upload = upload_from_elsewhere(own_hub, "acme/k", folder, tmp_path / "home1")
    deadline = time.monotonic() + 60
    while not stored_bytes(own_hub):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    upload.kill()
    upload.communicate()
    time.sleep(1)
    kept = stored_bytes(own_hub)
    log = own_hub.data.parent / "hub.log"
    assert 0 < kept < 140_000_000, "the upload was over before it could be interrupted"
    sent_before = len(re.findall(r"POST /cas/v1/xorbs/\S+ 200", log.read_text()))
    finish(upload_from_elsewhere(own_hub, "acme/k", folder, tmp_path / "home2"))
    sent = len(re.findall(r"POST /cas/v1/xorbs/\S+ 200", log.read_text())) - sent_before
    assert stored_bytes(own_hub) < 152_000_000
    assert sent < 3
