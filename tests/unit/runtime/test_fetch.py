"""A build is here when all of it is; caches that others wrote are read."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, unload_kernels, write_files

from kernelmill.runtime.errors import CacheUnusable, HubUnreachable, NotCached
from kernelmill.runtime.fetch import check_lengths, is_complete
from kernelmill.runtime.hub import RemoteFile
from kernelmill.runtime.hub.cached import CachedHub
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.runtime.session import Session
from kernelmill.spec.errors import DigestMismatch
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.cache import Cache
    from kernelmill.spec.host import Host

TOY = RepoId.parse("acme/toy")
COMMIT = "a" * 40
SOURCES = {"extra.py": "NAME = 'extra'\n", "empty.py": ""}


@pytest.fixture
def session(hub: MemoryHub, cache: Cache, host: Host) -> Session:
    hub.publish("acme/toy", "v1", {"torch-cpu": kernel_files(sources=SOURCES)})
    remembered = RememberedHub(
        endpoint=hub.endpoint, cache=cache, connect=lambda: hub, max_age_s=3600
    )
    return Session(hub=remembered, cache=cache, host=host)


def load(session: Session, revision: str | None = None) -> ModuleType:
    unload_kernels()
    version = None if revision else 1
    selection = session.select(str(TOY), version=version, revision=revision, trust_remote_code=True)
    return session.load(selection)


def folder_of(cache: Cache) -> Path:
    (folder,) = cache.root.rglob("snapshots/*/build/torch-cpu")
    return folder


def delete_file(folder: Path) -> None:
    (folder / "extra.py").unlink()


def delete_blob(folder: Path) -> None:
    (folder / "extra.py").resolve().unlink()


def cut_blob(folder: Path) -> None:
    os.truncate((folder / "extra.py").resolve(), 3)


def empty_blob(folder: Path) -> None:
    os.truncate((folder / "extra.py").resolve(), 0)


def cut_metadata(folder: Path) -> None:
    os.truncate((folder / "metadata.json").resolve(), 10)


def delete_snapshot(folder: Path) -> None:
    shutil.rmtree(folder)


DAMAGES = [delete_file, delete_blob, cut_blob, empty_blob, cut_metadata, delete_snapshot]


@pytest.mark.parametrize("damage", DAMAGES)
def test_partial_build_is_completed(
    session: Session, cache: Cache, hub: MemoryHub, damage: Callable[[Path], None]
) -> None:
    """O10."""
    load(session)
    damage(folder_of(cache))
    commit = hub.repos[str(TOY)].branches["v1"]
    assert not is_complete(cache, TOY, commit, "torch-cpu")
    assert load(session).VALUE == 1
    assert is_complete(cache, TOY, commit, "torch-cpu")


@pytest.mark.parametrize("damage", DAMAGES)
def test_partial_build_is_not_imported_without_the_network(
    session: Session, cache: Cache, hub: MemoryHub, damage: Callable[[Path], None]
) -> None:
    """O10."""
    load(session)
    damage(folder_of(cache))
    hub.is_down = True
    hub.fails_after = 0
    offline = Session(
        hub=CachedHub(endpoint=hub.endpoint, cache=cache), cache=cache, host=session.host
    )
    for each in (session, offline):
        with pytest.raises((HubUnreachable, NotCached, DigestMismatch, ConnectionResetError)):
            load(each)


@pytest.mark.parametrize("prefix", ["kernels", "models"])
@pytest.mark.parametrize("wanted", [None, "v1", COMMIT])
def test_cache_of_another_client_is_read_offline(
    hub: MemoryHub, cache: Cache, host: Host, prefix: str, wanted: str | None
) -> None:
    """H7: no list of files, no answers, the older prefix; the digest says what there should be."""
    repository = cache.root / f"{prefix}--acme--toy"
    folder = repository / "snapshots" / COMMIT / "build" / "torch-cpu"
    write_files(folder, kernel_files(sources=SOURCES))
    write_files(repository, {"refs/v1": COMMIT.encode()})
    offline = Session(hub=CachedHub(endpoint=hub.endpoint, cache=cache), cache=cache, host=host)
    assert load(offline, wanted).VALUE == 1
    (folder / "extra.py").unlink()
    with pytest.raises(DigestMismatch, match=r"Missing file: extra\.py"):
        load(offline, wanted)


def test_cache_of_another_client_is_used_while_the_hub_is_silent(
    hub: MemoryHub, cache: Cache, session: Session
) -> None:
    """H7, O2."""
    repository = cache.root / "kernels--acme--toy"
    folder = repository / "snapshots" / COMMIT / "build" / "torch-cpu"
    write_files(folder, kernel_files(value="theirs", sources=SOURCES))
    write_files(repository, {"refs/v1": COMMIT.encode()})
    hub.is_down = True
    assert load(session).VALUE == "theirs"


def test_names_are_noted_for_the_build_that_was_fetched(
    session: Session, cache: Cache, hub: MemoryHub
) -> None:
    """O3, R18: by version, as the peer's client notes branches."""
    load(session)
    commit = hub.repos[str(TOY)].branches["v1"]
    assert (cache.root / "kernels--acme--toy/refs/v1").read_text() == commit
    hub.repos[str(TOY)].branches["v7"] = commit
    unload_kernels()
    session.load(session.select(str(TOY), version=7))
    assert cache.read_refs(TOY) == {"v1": commit, "v7": commit}


@pytest.mark.parametrize(
    ("path", "limits"),
    [
        pytest.param("build/x/" + "a/" * 90 + "f.py", {"max_path": 259}, id="windows-path"),
        pytest.param("build/x/" + "n" * 256, {}, id="name"),
        pytest.param("build/x/" + "\u00e9" * 128, {}, id="name-in-bytes"),
        pytest.param("build/x/" + "a/" * 2100 + "f.py", {}, id="path"),
    ],
)
def test_path_that_the_system_cannot_have_is_refused(
    tmp_path: Path, path: str, limits: dict[str, int]
) -> None:
    """O14: computed, before anything waits for a lock."""
    files = [RemoteFile(path="build/x/ok.py", size_bytes=1), RemoteFile(path=path, size_bytes=1)]
    root = tmp_path / ("r" * 200)
    with pytest.raises(CacheUnusable, match="is longer than this system allows") as caught:
        check_lengths(root, files, **limits)
    assert caught.value.hint == "set KERNELS_CACHE to a folder with a shorter path"
    check_lengths(root, files[:1])
