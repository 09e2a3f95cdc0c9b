from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kernelmill.runtime.cache import Cache, write_whole
from kernelmill.runtime.hub import RemoteFile
from kernelmill.spec.names import RepoId

TOY = RepoId.parse("acme/toy")
COMMITS = ("a" * 40, "b" * 40)


def test_refs_are_where_huggingface_hub_looks_for_them(cache: Cache) -> None:
    cache.remember_ref(TOY, "v1", COMMITS[0])
    cache.remember_ref(TOY, "refs/pr/1", COMMITS[1])
    path = cache.root / "kernels--acme--toy/refs/v1"
    assert path.read_text() == COMMITS[0]
    assert cache.read_refs(TOY) == {"v1": COMMITS[0], "refs/pr/1": COMMITS[1]}


def test_ref_is_not_written_again_when_it_is_the_same(cache: Cache) -> None:
    cache.remember_ref(TOY, "v1", COMMITS[0])
    path = cache.root / "kernels--acme--toy/refs/v1"
    before = path.stat()
    cache.remember_ref(TOY, "v1", COMMITS[0])
    assert path.stat().st_ino == before.st_ino


def test_ref_is_never_seen_half_written(cache: Cache) -> None:
    cache.remember_ref(TOY, "v1", COMMITS[0])
    stop = threading.Event()

    def write() -> None:
        turn = 0
        while not stop.is_set():
            cache.remember_ref(TOY, "v1", COMMITS[turn % 2])
            turn += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = {cache.read_refs(TOY)["v1"] for _ in range(1000)}
    finally:
        stop.set()
        writer.join(timeout=20)
    assert seen <= set(COMMITS)


def test_failed_write_leaves_the_old_text_and_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    write_whole(path, "old", scratch=tmp_path)
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800", scratch=tmp_path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_written_files_can_be_read_by_others(tmp_path: Path) -> None:
    write_whole(tmp_path / "text", "x", scratch=tmp_path)
    assert (tmp_path / "text").stat().st_mode & 0o777 == 0o644


def test_list_of_files_comes_back(cache: Cache) -> None:
    files = (RemoteFile(path="build/torch-cpu/a.py", size_bytes=3),)
    assert cache.read_files(TOY, COMMITS[0], "torch-cpu") is None
    cache.remember_files(TOY, COMMITS[0], "torch-cpu", files)
    assert cache.read_files(TOY, COMMITS[0], "torch-cpu") == files


def test_lock_file_stays_where_it_is(cache: Cache) -> None:
    with cache.lock(TOY) as lock:
        path = Path(lock.lock_file)
        inode = path.stat().st_ino
    assert path.stat().st_ino == inode
    with cache.lock(TOY):
        assert path.stat().st_ino == inode


def test_ref_is_not_remembered_when_another_is_in_its_way(cache: Cache) -> None:
    for name in ("a", "a/b", "c/d", "c"):
        cache.remember_ref(TOY, name, COMMITS[0])
    assert cache.read_refs(TOY) == {"a": COMMITS[0], "c/d": COMMITS[0]}


def test_ref_is_ignored_when_it_holds_no_commit(cache: Cache) -> None:
    cache.remember_ref(TOY, "v1", COMMITS[0])
    folder = cache.root / "kernels--acme--toy/refs"
    (folder / "v2").write_text("../../elsewhere")
    (folder / "v3").write_bytes(b"\xff")
    assert cache.read_refs(TOY) == {"v1": COMMITS[0]}


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_list_of_files_is_as_if_missing_when_it_is_damaged(cache: Cache, text: str) -> None:
    cache.remember_files(TOY, COMMITS[0], "torch-cpu", ())
    (path,) = cache.root.rglob("torch-cpu.json")
    path.write_text(text)
    assert cache.read_files(TOY, COMMITS[0], "torch-cpu") is None
