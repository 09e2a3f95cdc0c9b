"""Files get their names once they are whole."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import oid_of

from kernelmill.runtime.hub import RemoteFile
from kernelmill.runtime.hub.blobs import BlobStore
from kernelmill.spec.errors import DigestMismatch, HubError

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "a" * 40
CONTENT = b"0123456789"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PLAIN = RemoteFile(path="build/x/a.py", size_bytes=10, oid=oid_of(CONTENT))
LARGE = RemoteFile(path="build/x/a.so", size_bytes=10, oid="b" * 40, sha256=SHA256)
LONG = RemoteFile(
    path="build/x/b.py", size_bytes=10, oid=hashlib.sha256(b"blob 10\0" + CONTENT).hexdigest()
)


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path)


def receive(
    store: BlobStore, file: RemoteFile, content: bytes, breaks_after: int | None = None
) -> int:
    """Take in a file as from a Hub that answers a range, and return where the range began."""
    with store.receive(file) as blob:
        start = blob.size_bytes
        for position in range(start, len(content)):
            if position == breaks_after:
                raise ConnectionResetError
            blob.write(content[position : position + 1])
    return start


@pytest.mark.parametrize("file", [PLAIN, LARGE, LONG], ids=["git", "large", "git-sha256"])
def test_blob_is_named_after_its_content(
    store: BlobStore, tmp_path: Path, file: RemoteFile
) -> None:
    assert not store.has(file)
    receive(store, file, CONTENT)
    store.link(file, COMMIT)
    link = tmp_path / "snapshots" / COMMIT / file.path
    assert link.read_bytes() == CONTENT
    assert str(link.readlink()) == f"../../../../blobs/{file.blob_name}"
    assert store.has(file)


def test_other_content_gets_no_name(store: BlobStore, tmp_path: Path) -> None:
    with pytest.raises(
        HubError, match=r"build/x/a\.py arrived damaged: its hash is [0-9a-f]{40}, "
    ):
        receive(store, PLAIN, b"0123456780")
    assert list((tmp_path / "blobs").iterdir()) == []


def test_more_than_was_listed_is_not_taken(store: BlobStore) -> None:
    with pytest.raises(HubError, match="is larger than the 10 bytes that the Hub listed"):
        receive(store, PLAIN, CONTENT + b"x")


def test_what_arrived_before_is_not_asked_for_again(store: BlobStore) -> None:
    """O10: killed half way."""
    with pytest.raises(ConnectionResetError):
        receive(store, PLAIN, CONTENT, breaks_after=4)
    assert not store.has(PLAIN)
    assert receive(store, PLAIN, CONTENT) == 4
    assert store.has(PLAIN)


@pytest.mark.parametrize("left", [b"", b"x" * 11], ids=["empty", "too-long"])
def test_useless_rest_is_begun_anew(store: BlobStore, tmp_path: Path, left: bytes) -> None:
    """O10: a zero-byte file was left."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / f"{PLAIN.oid}.kernelmill.incomplete").write_bytes(left)
    (tmp_path / "blobs" / f"{PLAIN.oid}.incomplete").write_bytes(b"")  # huggingface_hub's
    assert receive(store, PLAIN, CONTENT) == 0


def test_wrong_rest_is_thrown_away(store: BlobStore, tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / f"{PLAIN.oid}.kernelmill.incomplete").write_bytes(b"9")
    with pytest.raises(HubError, match="arrived damaged"):
        receive(store, PLAIN, CONTENT)
    assert receive(store, PLAIN, CONTENT) == 0


def test_blob_that_was_cut_off_is_completed(store: BlobStore, tmp_path: Path) -> None:
    receive(store, PLAIN, CONTENT)
    os.truncate(tmp_path / "blobs" / PLAIN.oid, 3)
    assert not store.has(PLAIN)
    assert receive(store, PLAIN, CONTENT) == 3
    assert store.has(PLAIN)


@pytest.mark.parametrize("changed", [b"0123456780", b"01234567890"], ids=["same-size", "longer"])
def test_blob_that_was_changed_is_refused_until_it_is_forgotten(
    store: BlobStore, tmp_path: Path, changed: bytes
) -> None:
    receive(store, PLAIN, CONTENT)
    (tmp_path / "blobs" / PLAIN.oid).write_bytes(changed)
    with pytest.raises(DigestMismatch, match=r"File hash mismatch for build/x/a\.py") as caught:
        store.has(PLAIN)
    assert caught.value.hint == "somebody changed this file: `kernels update REPO` fetches it again"
    store.forget(PLAIN)
    assert not store.has(PLAIN)


def test_blob_that_was_changed_and_cut_off_is_refused(store: BlobStore, tmp_path: Path) -> None:
    receive(store, PLAIN, CONTENT)
    (tmp_path / "blobs" / PLAIN.oid).write_bytes(b"99")
    with pytest.raises(DigestMismatch, match=r"File hash mismatch for build/x/a\.py"):
        receive(store, PLAIN, CONTENT)


def test_good_blob_is_not_forgotten(store: BlobStore) -> None:
    receive(store, PLAIN, CONTENT)
    store.forget(PLAIN)
    assert store.has(PLAIN)


def test_file_is_copied_where_links_cannot_be_made(
    store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O6: two threads find out at once."""
    both = threading.Barrier(2)

    def refuse(*_: object, **__: object) -> None:
        both.wait(timeout=10)
        raise OSError(1314, "A required privilege is not held by the client")

    monkeypatch.setattr("pathlib.Path.symlink_to", refuse)
    for file in (PLAIN, LARGE):
        receive(store, file, CONTENT)
    threads = [threading.Thread(target=store.link, args=(each, COMMIT)) for each in (PLAIN, LARGE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for file in (PLAIN, LARGE):
        path = tmp_path / "snapshots" / COMMIT / file.path
        assert (path.is_symlink(), path.read_bytes()) == (False, CONTENT)
    assert not list(tmp_path.glob(".*"))


def test_link_is_replaced_only_when_it_leads_elsewhere(store: BlobStore, tmp_path: Path) -> None:
    receive(store, PLAIN, CONTENT)
    store.link(PLAIN, COMMIT)
    path = tmp_path / "snapshots" / COMMIT / PLAIN.path
    inode = path.lstat().st_ino
    store.link(PLAIN, COMMIT)
    assert path.lstat().st_ino == inode
    path.unlink()
    path.write_text("in the way")
    store.link(PLAIN, COMMIT)
    assert path.read_bytes() == CONTENT
