"""What a Hub's binary caches leave behind, and what is removed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from tests.nix_tools import entry_of

from kernelmill.hub.service.hub import open_hub, sweep
from kernelmill.hub.service.nix_cache import NixCache, put_archive, put_entry
from kernelmill.hub.settings import Settings
from kernelmill.spec import narinfo
from kernelmill.spec.nix_store import path_hash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.hub.service.hub import Hub
    from kernelmill.spec.narinfo import NarInfo


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = open_hub(Settings(data=tmp_path / "hub"))
    yield opened
    opened.close()


def upload(cache: NixCache, content: bytes, tmp_path: Path) -> NarInfo:
    info, nar = entry_of(content, key=content.decode())
    (tmp_path / "nar").write_bytes(nar)
    put_archive(cache, info.url.removeprefix("nar/"), tmp_path / "nar", info.file_sha256)
    return info


def make_old(hub: Hub) -> None:
    for path in (hub.settings.data / "objects").rglob("*.nar*"):
        os.utime(path, (time.time() - 2 * 24 * 3600,) * 2)


def test_archive_without_an_entry_is_removed_a_day_later(hub: Hub, tmp_path: Path) -> None:
    cache = NixCache(hub=hub, owner="acme", shelf="public")
    kept, lost = upload(cache, b"kept", tmp_path), upload(cache, b"lost", tmp_path)
    put_entry(cache, path_hash(kept.store_path), narinfo.dumps(kept))
    assert sweep(hub) == 0  # an entry may be on its way
    make_old(hub)
    assert sweep(hub) == 1
    assert hub.blobs.size(cache.key(kept.url)) is not None
    assert hub.blobs.size(cache.key(lost.url)) is None


def test_archive_that_is_sent_again_is_young(hub: Hub, tmp_path: Path) -> None:
    cache = NixCache(hub=hub, owner="acme", shelf="private")
    upload(cache, b"again", tmp_path)
    make_old(hub)
    upload(cache, b"again", tmp_path)
    assert sweep(hub) == 0


def test_entry_in_one_cache_keeps_nothing_in_another(hub: Hub, tmp_path: Path) -> None:
    public = NixCache(hub=hub, owner="acme", shelf="public")
    info = upload(public, b"same", tmp_path)
    put_entry(public, path_hash(info.store_path), narinfo.dumps(info))
    upload(NixCache(hub=hub, owner="acme", shelf="private"), b"same", tmp_path)
    make_old(hub)
    assert sweep(hub) == 1
