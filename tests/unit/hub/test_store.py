"""Packs, trees and the transaction that publishes them, on a real folder and SQLite."""

from __future__ import annotations

import hashlib
import io
import os
import random
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.pack import PackData, load_pack_index
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelmill.hub.errors import EntryNotFound, InvalidRequest, RefMoved, RepoNotFound
from kernelmill.hub.service.commits import commit_content
from kernelmill.hub.service.editor import TreeEditor
from kernelmill.hub.service.hub import open_hub, sweep
from kernelmill.hub.settings import Settings
from kernelmill.hub.store.cache import Cache
from kernelmill.hub.store.names import MAIN, InMemory, ObjectKind
from kernelmill.hub.store.objects import MissingObject
from kernelmill.hub.store.packs import OpenPack, PackWriter
from kernelmill.hub.store.repos import (
    RefChange,
    Repo,
    delete_repo,
    insert_repo,
    new_id,
    publish,
    read_packs,
    read_refs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.hub.service.hub import Hub

NOISE = random.Random(0).randbytes(900_000)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """Return an open Hub that keeps only the smallest packs in SQL."""
    opened = open_hub(Settings(data=tmp_path / "data", inline_pack_bytes=2000))
    yield opened
    opened.close()


def make_repo(hub: Hub) -> tuple[Repo, str]:
    """Create a repository and return it with the commit of its branch main."""
    repo = Repo(
        id=new_id(),
        kind="kernel",
        namespace="acme",
        name=new_id(),
        is_private=False,
        gen=0,
        created_ms=0,
        updated_ms=0,
    )
    with hub.objects.pack_writer(None) as pack:
        tree = pack.add(ObjectKind.TREE, InMemory(b""))
        content = commit_content(tree=tree, parents=[], author="ada", summary="Start")
        commit = pack.add(ObjectKind.COMMIT, content)
        stored = hub.objects.store_pack(repo.id, pack)
    insert_repo(hub.database, repo, stored, [RefChange(name=MAIN, old=None, new=commit)])
    return repo, commit


def write_blob(hub: Hub, repo: Repo, data: bytes, *changes: RefChange) -> str:
    with hub.objects.pack_writer(hub.objects.reader(repo.id, 0)) as pack:
        blob = pack.add(ObjectKind.BLOB, InMemory(data))
        publish(hub.database, repo.id, hub.objects.store_pack(repo.id, pack), changes)
    return blob


@contextmanager
def new_pack(folder: Path) -> Iterator[PackWriter]:
    with (folder / "p.pack").open("w+b") as file:
        yield PackWriter(file, folder / "p.pack", is_known=lambda _: False)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"x", id="one-byte"),
        pytest.param(NOISE, id="noise-is-stored"),
        pytest.param(b"text " * 100_000, id="text-is-compressed"),
        pytest.param(b"text " * 1_000_000, id="large-text"),
    ],
)
def test_pack_gives_back_what_was_written(tmp_path: Path, data: bytes) -> None:
    with new_pack(tmp_path) as writer:
        blob = writer.add(ObjectKind.BLOB, InMemory(data))
        assert writer.add(ObjectKind.BLOB, InMemory(data)) == blob
        written = writer.finish()
    assert blob == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    pack = OpenPack("p", (tmp_path / "p.pack").read_bytes(), written.index)
    raw = bytes.fromhex(blob)
    assert pack.header(raw) == (ObjectKind.BLOB, len(data))
    assert pack.read(raw) == data
    assert b"".join(pack.stream(raw)) == data
    assert (written.objects, written.size_bytes) == (1, (tmp_path / "p.pack").stat().st_size)


def test_pack_is_one_that_dulwich_reads(tmp_path: Path) -> None:
    with new_pack(tmp_path) as writer:
        ids = {writer.add(ObjectKind.BLOB, InMemory(b"%d" % i)) for i in range(300)}
        written = writer.finish()
    (tmp_path / "p.idx").write_bytes(written.index)
    with (
        PackData(str(tmp_path / "p.pack"), DEFAULT_OBJECT_FORMAT) as data,
        closing(load_pack_index(str(tmp_path / "p.idx"), DEFAULT_OBJECT_FORMAT)) as index,
    ):
        data.check()
        index.check()
        assert {bytes(raw).hex() for raw in index} == {i.encode().hex() for i in ids}
        assert index.get_pack_checksum() == bytes.fromhex(written.checksum)


def test_pack_drops_what_is_behind_a_mark_when_rewound(tmp_path: Path) -> None:
    with new_pack(tmp_path) as writer:
        kept = writer.add(ObjectKind.BLOB, InMemory(b"kept"))
        mark = writer.mark()
        dropped = writer.add(ObjectKind.BLOB, InMemory(b"dropped" * 1000))
        writer.finish()
        writer.rewind(mark)
        added = writer.add(ObjectKind.BLOB, InMemory(b"added"))
        written = writer.finish()
    pack = OpenPack("p", (tmp_path / "p.pack").read_bytes(), written.index)
    assert {raw.hex() for raw in pack.raw_ids} == {kept, added}
    assert bytes.fromhex(dropped) not in pack
    assert pack.read(bytes.fromhex(added)) == b"added"


def test_pack_says_so_when_it_is_cut_short(tmp_path: Path) -> None:
    with new_pack(tmp_path) as writer:
        blob = writer.add(ObjectKind.BLOB, InMemory(NOISE))
        written = writer.finish()
    pack = OpenPack("p", (tmp_path / "p.pack").read_bytes()[:5000], written.index)
    with pytest.raises(EOFError, match="pack p ends inside an object"):
        pack.read(bytes.fromhex(blob))


def test_pack_is_in_sql_when_small_and_in_the_folder_when_large(hub: Hub) -> None:
    repo, _ = make_repo(hub)
    small = write_blob(hub, repo, b"small")
    large = write_blob(hub, repo, NOISE)
    rows = read_packs(hub.database, repo.id, after=0)
    assert [row.data is None for row in rows] == [False, False, True]
    keys = hub.blobs.list_keys(f"git/{repo.id}")
    assert sorted(keys) == [f"git/{repo.id}/{rows[-1].name}.{suffix}" for suffix in ("idx", "pack")]
    reader = hub.objects.reader(repo.id, 0)
    assert b"".join(reader.stream(small)) == b"small"
    assert b"".join(reader.stream(large)) == NOISE


def test_pack_and_its_folders_are_synced_before_it_is_published(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, tip = make_repo(hub)
    synced: list[tuple[str, int]] = []

    def spy(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        rows = len(read_packs(hub.database, repo.id, after=0))
        synced.append((path.relative_to(hub.settings.data).as_posix(), rows))

    monkeypatch.setattr(os, "fsync", spy)
    write_blob(hub, repo, NOISE, RefChange(name="refs/heads/x", old=None, new=tip))
    name = read_packs(hub.database, repo.id, after=0)[-1].name
    folder = f"objects/git/{repo.id}"
    paths = [path for path, _ in synced]
    assert {f"{folder}/{name}.pack", f"{folder}/{name}.idx", folder, "objects/git"} <= set(paths)
    assert paths.index(f"{folder}/{name}.pack") < paths.index(f"{folder}/{name}.idx")
    assert {rows for _, rows in synced} == {1}  # the new pack was not yet in SQL


def test_reader_finds_a_pack_that_came_after_it_was_opened(hub: Hub) -> None:
    repo, _ = make_repo(hub)
    reader = hub.objects.reader(repo.id, 0)
    blob = write_blob(hub, repo, b"later")
    assert not reader.has(blob)
    assert reader.size(blob) == 5
    with pytest.raises(MissingObject):
        reader.size("0" * 40)
    # Looking in vain must not hide what comes next.
    assert reader.size(write_blob(hub, repo, b"even later")) == 10


@pytest.mark.parametrize("size", [5, len(NOISE)])
def test_reader_says_so_when_the_repository_was_deleted_meanwhile(hub: Hub, size: int) -> None:
    repo, tip = make_repo(hub)
    old = hub.objects.reader(repo.id, 0)
    blob = write_blob(hub, repo, NOISE[:size], RefChange(name="refs/heads/x", old=None, new=tip))
    delete_repo(hub.database, repo)
    hub.objects.delete_repo(repo.id)
    with pytest.raises(RepoNotFound, match="the repository was deleted meanwhile"):
        old.size(blob)


def test_damage_is_not_mistaken_for_a_deleted_repository(hub: Hub) -> None:
    repo, _ = make_repo(hub)
    write_blob(hub, repo, NOISE)
    hub.objects.delete_repo(repo.id)  # the objects alone
    with pytest.raises(FileNotFoundError):
        hub.objects.refresh(repo.id)


def test_publish_changes_nothing_when_a_reference_has_moved(hub: Hub) -> None:
    repo, tip = make_repo(hub)
    other = "1" * 40
    changes = (
        RefChange(name="refs/heads/new", old=None, new=tip),
        RefChange(name=MAIN, old=other, new=tip),
    )
    with pytest.raises(RefMoved, match="'refs/heads/main' changed at the same moment"):
        write_blob(hub, repo, b"x", *changes)
    assert read_refs(hub.database, repo.id) == {MAIN: tip}
    assert len(read_packs(hub.database, repo.id, after=0)) == 1


def test_publish_is_refused_when_the_repository_is_gone(hub: Hub) -> None:
    repo, _ = make_repo(hub)
    delete_repo(hub.database, repo)
    with pytest.raises(RepoNotFound, match="the repository was deleted meanwhile"):
        write_blob(hub, repo, b"x")


def test_sweep_removes_only_old_garbage(hub: Hub) -> None:
    repo, _ = make_repo(hub)
    published = write_blob(hub, repo, NOISE)
    with hub.objects.pack_writer(None) as pack:
        pack.add(ObjectKind.BLOB, InMemory(NOISE[::-1]))
        lost = hub.objects.store_pack(repo.id, pack)
    scratch = hub.scratch / "left.pack"
    scratch.touch()
    assert sweep(hub) == 0
    old = time.time() - 25 * 3600
    files = list((hub.settings.data / "objects").rglob("*.*"))
    for path in [*files, scratch]:
        os.utime(path, (old, old))
    assert len(files) == 4
    assert sweep(hub) == 3
    assert [key for key in hub.blobs.list_keys("git") if lost.name in key] == []
    hub_again = open_hub(hub.settings)
    try:
        assert b"".join(hub_again.objects.reader(repo.id, 0).stream(published)) == NOISE
    finally:
        hub_again.close()


Step = tuple[str, str]
PATHS = st.lists(st.sampled_from(["a", "b", "a.b", "a-"]), min_size=1, max_size=3).map("/".join)
STEPS = st.lists(st.tuples(st.sampled_from(["put", "file", "folder"]), PATHS), max_size=25)


def apply(model: dict[str, str], step: Step, content: str) -> bool:
    """Do the same on a plain dictionary of paths; say whether it was possible."""
    action, path = step
    below = [p for p in model if p.startswith(f"{path}/")]
    above = any(path.startswith(f"{p}/") for p in model)
    if action == "put":
        if below or above:
            return False
        model[path] = content
    elif action == "file":
        if path not in model:
            return False
        del model[path]
    else:
        if not below:
            return False
        for p in below:
            del model[p]
    return True


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
def test_editor_agrees_with_a_dictionary_of_paths(hub: Hub, steps: list[Step]) -> None:
    repo, tip = make_repo(hub)
    model: dict[str, str] = {}
    reader = hub.objects.reader(repo.id, 0)
    root = reader.commit(tip).tree.decode()
    with hub.objects.pack_writer(None) as pack:
        editor = TreeEditor(reader, root)
        for number, step in enumerate(steps):
            blob = pack.add(ObjectKind.BLOB, InMemory(b"%d" % number))
            action = {"file": editor.delete_file, "folder": editor.delete_folder}.get(step[0])
            if apply(model, step, blob):
                editor.put_file(step[1], blob) if action is None else action(step[1])
            else:
                with pytest.raises((InvalidRequest, EntryNotFound)):
                    editor.put_file(step[1], blob) if action is None else action(step[1])
        root = editor.write(pack)
        publish(hub.database, repo.id, hub.objects.store_pack(repo.id, pack), [])
    assert dict(files_below(hub.objects.reader(repo.id, 0).tree, root, "")) == model


def files_below(tree: object, root: str, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in tree(root).values():  # type: ignore[operator]  # a bound method
        if entry.is_folder:
            yield from files_below(tree, entry.id, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.id


def test_cache_drops_what_was_used_longest_ago() -> None:
    cache: Cache[str, bytes] = Cache(10, len)
    cache.put("a", b"1234")
    cache.put("b", b"1234")
    assert cache.get("a") == b"1234"
    cache.put("c", b"1234")
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (b"1234", None, b"1234")
    cache.put("a", b"")
    assert cache.put("d", b"123456") == b"123456"
    assert cache.get("c") == b"1234"
    assert cache.get_or_make("huge", lambda: bytes(100)) == bytes(100)
    assert cache.get("d") is None


def test_pack_header_is_read_when_sizes_need_many_bytes(tmp_path: Path) -> None:
    with new_pack(tmp_path) as writer:
        ids = [writer.add(ObjectKind.BLOB, InMemory(bytes(n))) for n in (15, 16, 2047, 2048, 10**6)]
        written = writer.finish()
    pack = OpenPack("p", io.BytesIO((tmp_path / "p.pack").read_bytes()).getbuffer(), written.index)
    sizes = [pack.header(bytes.fromhex(i))[1] for i in ids]
    assert sizes == [15, 16, 2047, 2048, 10**6]
