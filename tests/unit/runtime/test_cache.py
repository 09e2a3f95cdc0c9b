from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from kernelmill.runtime.cache import Cache, write_whole
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_umask_says_who_may_use_what_is_written(cache: Cache, umask: int, mode: int) -> None:
    """O9: a cache that a group shares."""
    before = os.umask(umask)
    try:
        cache.remember_ref(TOY, "v1", COMMITS[0])
        with cache.lock(TOY):
            pass
    finally:
        os.umask(before)
    written = {path for path in cache.root.rglob("*") if path.is_file()}
    assert {path.name: path.stat().st_mode & 0o777 for path in written} == {
        "v1": mode,
        "kernelmill.lock": mode,
    }


def test_lock_file_stays_where_it_is(cache: Cache) -> None:
    """O16."""
    path = cache.root / ".locks/kernels--acme--toy/kernelmill.lock"
    with cache.lock(TOY):
        inode = path.stat().st_ino
    assert path.stat().st_ino == inode
    with cache.lock(TOY):
        assert path.stat().st_ino == inode


def test_lock_is_given_up_after_a_while(cache: Cache) -> None:
    with cache.lock(TOY), pytest.raises(TimeoutError), cache.lock(TOY, timeout_s=0.01):
        pass


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
