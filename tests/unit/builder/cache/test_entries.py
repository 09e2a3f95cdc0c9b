"""Caches in a folder: what is pushed is pulled, and nothing that was tampered with."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.cache import entries, sdks
from kernelmill.builder.cache.builds import build_path, pull_build, push_build
from kernelmill.builder.cache.keys import SecretKey, generate, parse_trusted, read_secret
from kernelmill.builder.cache.places import FolderPlace, HttpPlace, open_place
from kernelmill.builder.cache.settings import Caches, read_caches
from kernelmill.builder.errors import CacheError, EntryRefused, FilesExist, SigningError
from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.nar import nar_sha256, write_nar
from kernelmill.builder.sdk.store import Sdk, Store
from kernelmill.spec import narinfo
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLATFORM = "x86_64-linux"


@dataclass(frozen=True, kw_only=True)
class World:
    """A cache, and one who signs and is trusted."""

    place: FolderPlace
    key: SecretKey

    @property
    def caches(self) -> Caches:
        return Caches(places=(self.place,), trusted=(self.key.public,))


@pytest.fixture
def world(tmp_path: Path) -> World:
    generate("test-1", tmp_path / "key")
    return World(place=FolderPlace(folder=tmp_path / "cache"), key=read_secret(tmp_path / "key"))


@pytest.fixture
def build(tmp_path: Path) -> Path:
    folder = tmp_path / "made/build/torch-cpu"
    folder.mkdir(parents=True)
    (folder / "metadata.json").write_text("{}")
    (folder / "kernel.so").write_bytes(b"\x7fELF" * 1000)
    return folder


def quiet(_: str) -> None:
    pass


def change_entry(place: FolderPlace, path: str, change: Callable[[str], str]) -> None:
    file = place.folder / entries.entry_name(path)
    file.write_text(change(file.read_text()))


def test_build_arrives_as_it_was(world: World, build: Path, tmp_path: Path) -> None:
    push_build(build, "a-key", world.place, world.key)
    target = tmp_path / "here/build/torch-cpu"
    told: list[str] = []
    assert pull_build("a-key", target, world.caches, note=told.append)
    assert nar_sha256(target) == nar_sha256(build)
    assert told[0].startswith(f"torch-cpu: from {world.place.address}: 0.0 MB, 0.0 MB unpacked")
    assert [it.name for it in target.parent.iterdir()] == ["torch-cpu"]


def test_large_archive_tells_how_far_it_is(
    world: World, build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "_NEWS_S", -1.0)
    (build / "kernel.so").write_bytes(bytes(1_600_000))
    push_build(build, "a-key", world.place, world.key)
    told: list[str] = []
    assert pull_build("a-key", tmp_path / "x/torch-cpu", world.caches, note=told.append)
    assert "torch-cpu: 1 of 2 MB unpacked" in told
    assert told[-2] == "torch-cpu: 2 of 2 MB unpacked"


def test_statement_goes_with_its_build(world: World, build: Path, tmp_path: Path) -> None:
    name = "torch-cpu.intoto.json"
    (build.parent / name).write_text("a statement")
    push_build(build, "a-key", world.place, world.key)
    target = tmp_path / "here/build/torch-cpu"
    assert pull_build("a-key", target, world.caches, note=quiet)
    assert (target.parent / name).read_text() == "a statement"
    assert sorted(it.name for it in target.parent.iterdir()) == ["torch-cpu", name]


def test_other_key_is_another_build(world: World, build: Path, tmp_path: Path) -> None:
    push_build(build, "a-key", world.place, world.key)
    assert not pull_build("b-key", tmp_path / "x/torch-cpu", world.caches, note=quiet)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(
            lambda text: "".join(
                it for it in text.splitlines(keepends=True) if not it.startswith("Sig:")
            ),
            "torch-cpu: is not signed",
            id="unsigned",
        ),
        pytest.param(
            lambda text: text.replace("Sig: test-1", "Sig: other-1"),
            "torch-cpu: is signed by other-1, whom nobody trusts here",
            id="stranger",
        ),
        pytest.param(
            lambda text: text.replace("NarSize: ", "NarSize: 1"),
            "torch-cpu: the signature of test-1 does not fit the entry",
            id="changed",
        ),
        pytest.param(lambda _: "<html>", "'<html>' is not a line of a narinfo", id="no-entry"),
    ],
)
def test_entry_that_nobody_vouches_for_is_refused(
    world: World,
    build: Path,
    tmp_path: Path,
    change: Callable[[str], str],
    problem: str,
) -> None:
    push_build(build, "a-key", world.place, world.key)
    change_entry(world.place, build_path("a-key", "torch-cpu"), change)
    target = tmp_path / "here/build/torch-cpu"
    with pytest.raises(EntryRefused) as caught:
        pull_build("a-key", target, world.caches, note=quiet)
    assert caught.value.problem == problem
    assert caught.value.exit_code == 1
    assert not target.exists()


def test_entry_of_another_path_is_refused(world: World, build: Path, tmp_path: Path) -> None:
    push_build(build, "a-key", world.place, world.key)
    other = world.place.folder / entries.entry_name(build_path("b-key", "torch-cpu"))
    other.write_bytes(
        (world.place.folder / entries.entry_name(build_path("a-key", "torch-cpu"))).read_bytes()
    )
    with pytest.raises(EntryRefused, match="this is an entry of /nix/store/"):
        pull_build("b-key", tmp_path / "x/torch-cpu", world.caches, note=quiet)


def pack_build(build: Path, scratch: Path) -> bytes:
    shutil.copytree(build, scratch / "whole" / build.name)
    return pack(scratch / "whole")


def poison(place: FolderPlace, path: str, archive: bytes) -> None:
    """Put another archive in the place of an entry's, as a cache that was broken into would."""
    content = (place.folder / entries.entry_name(path)).read_text()
    info = narinfo.parse(content, where="")
    digest = hashlib.sha256(archive).hexdigest()
    url = narinfo.nar_url(digest, "gzip")
    (place.folder / url).write_bytes(archive)
    moved = replace(info, url=url, compression="gzip", file_sha256=digest, file_bytes=len(archive))
    (place.folder / entries.entry_name(path)).write_text(narinfo.dumps(moved))


def pack(path: Path) -> bytes:
    archive = bytearray()
    write_nar(path, archive.extend)
    return bytes(archive)


def test_poisoned_archive_is_refused(world: World, build: Path, tmp_path: Path) -> None:
    push_build(build, "a-key", world.place, world.key)
    content = (build / "kernel.so").read_bytes()
    (build / "kernel.so").write_bytes(b"evil" + content[4:])
    poison(
        world.place, build_path("a-key", "torch-cpu"), gzip.compress(pack_build(build, tmp_path))
    )
    target = tmp_path / "here/build/torch-cpu"
    with pytest.raises(EntryRefused, match=r"the archive's NAR sha256 is [0-9a-f]{64}, want"):
        pull_build("a-key", target, world.caches, note=quiet)
    assert not list(target.parent.iterdir())


def test_archive_that_is_larger_than_its_entry_is_not_unpacked(
    world: World, build: Path, tmp_path: Path
) -> None:
    push_build(build, "a-key", world.place, world.key)
    (build / "kernel.so").write_bytes(bytes(5_000_000))
    poison(
        world.place, build_path("a-key", "torch-cpu"), gzip.compress(pack_build(build, tmp_path), 1)
    )
    with pytest.raises(EntryRefused, match=r"the archive has more than \d+ bytes"):
        pull_build("a-key", tmp_path / "x/torch-cpu", world.caches, note=quiet)


def test_archive_that_is_cut_is_refused(world: World, build: Path, tmp_path: Path) -> None:
    push_build(build, "a-key", world.place, world.key)
    archive = next((world.place.folder / "nar").iterdir())
    archive.write_bytes(archive.read_bytes()[:-9])
    with pytest.raises(EntryRefused, match="damaged"):
        pull_build("a-key", tmp_path / "x/torch-cpu", world.caches, note=quiet)


@pytest.fixture
def sdk(tmp_path: Path) -> tuple[Sdk, Store]:
    store = Store(tmp_path / "sdks")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "version.py").write_text("x")
    record = SdkRecord(
        kind="torch",
        version="2.12.0+cu130",
        platform=PLATFORM,
        inputs=(),
        nar_sha256=nar_sha256(tree),
    )
    return store.install(record, tree), store


@pytest.mark.parametrize("asked", ["2.12", "2.12.0", "2.12.0+cu130"])
def test_sdk_arrives_under_each_of_its_names(
    world: World,
    sdk: tuple[Sdk, Store],
    asked: str,
    tmp_path: Path,
) -> None:
    sdks.push_sdk(sdk[0], world.place, world.key, store=sdk[1], note=quiet)
    empty = Store(tmp_path / "empty")
    found = sdks.pull_sdk("torch", asked, world.caches, empty, platform=PLATFORM, note=quiet)
    assert found is not None
    assert found.record == sdk[0].record
    assert not empty.verify(found)
    assert (
        sdks.pull_sdk("torch", "2.11", world.caches, empty, platform=PLATFORM, note=quiet) is None
    )
    assert sdks.pull_sdk("torch", asked, world.caches, empty, platform="arm", note=quiet) is None


def test_sdk_with_changed_files_is_not_pushed(world: World, sdk: tuple[Sdk, Store]) -> None:
    (sdk[0].tree / "version.py").write_text("changed")
    with pytest.raises(EntryRefused, match="NAR sha256 is"):
        sdks.push_sdk(sdk[0], world.place, world.key, store=sdk[1], note=quiet)
    assert not world.place.folder.exists()


def test_tree_needs_no_trust_and_its_description_does(
    world: World, sdk: tuple[Sdk, Store], tmp_path: Path
) -> None:
    sdks.push_sdk(sdk[0], world.place, world.key, store=sdk[1], note=quiet)
    tree = entries.find(world.place, sdks.tree_path(sdk[0].record), ())
    assert tree is not None
    strangers = Caches(places=(world.place,), trusted=())
    with pytest.raises(EntryRefused, match=r"json: is signed by test-1, whom nobody trusts here"):
        sdks.pull_sdk(
            "torch", "2.12", strangers, Store(tmp_path / "e"), platform=PLATFORM, note=quiet
        )


def test_locked_sdk_needs_nobody_to_vouch_for_it(
    world: World, sdk: tuple[Sdk, Store], tmp_path: Path
) -> None:
    sdks.push_sdk(sdk[0], world.place, world.key, store=sdk[1], note=quiet)
    strangers, empty = Caches(places=(world.place,), trusted=()), Store(tmp_path / "empty")
    found = sdks.pull_locked(sdk[0].record, strangers, empty, note=quiet)
    assert found is not None
    assert not empty.verify(found)
    other = replace(sdk[0].record, nar_sha256="0" * 64)
    assert sdks.pull_locked(other, strangers, empty, note=quiet) is None


def test_next_cache_is_asked_when_one_does_not_answer(
    world: World, sdk: tuple[Sdk, Store], tmp_path: Path
) -> None:
    class Silent(FolderPlace):
        def read(self, name: str) -> bytes | None:
            raise CacheError(f"does not answer: gone ({name[-8:]})", where="http://silent")

    silent = Silent(folder=tmp_path)
    sdks.push_sdk(sdk[0], world.place, world.key, store=sdk[1], note=quiet)
    both = replace(world.caches, places=(silent, world.place))
    told: list[str] = []
    store = Store(tmp_path / "e")
    assert sdks.pull_sdk("torch", "2.12", both, store, platform=PLATFORM, note=told.append)
    assert told[0] == "http://silent: does not answer: gone (.narinfo)"
    with pytest.raises(CacheError, match="does not answer: gone"):
        sdks.pull_sdk("torch", "2.9", both, store, platform=PLATFORM, note=quiet)


def test_key_is_neither_shown_nor_overwritten(tmp_path: Path) -> None:
    public = generate("test-1", tmp_path / "key")
    secret = read_secret(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "key.pub").read_text() == str(public)
    assert "_seed" not in repr(secret)
    with pytest.raises(FilesExist, match="is there already"):
        generate("test-1", tmp_path / "key")
    with pytest.raises(InputError, match="'a:b' cannot name a key"):
        generate("a:b", tmp_path / "other")


def test_wrong_keys_are_named(tmp_path: Path) -> None:
    public = generate("test-1", tmp_path / "key")
    with pytest.raises(InputError, match="this is a secret key, and the public one is wanted"):
        parse_trusted((tmp_path / "key").read_text(), where="")
    for text in ("", "x", "test-1:", "test-1:AAAA", "test-1:!!", f"te st:{public.raw.hex()}"):
        with pytest.raises(InputError, match="not a key of a binary cache"):
            parse_trusted(text, where="")
    with pytest.raises(SigningError, match="this is no secret key"):
        read_secret(tmp_path / "key.pub")
    with pytest.raises(SigningError, match="cannot be read: No such file"):
        read_secret(tmp_path / "none")


def test_token_goes_to_its_own_hub_only(tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine cache.example login me password secret\n")
    env = {"HF_TOKEN": "hf_x", "HF_ENDPOINT": "https://hub.example", "NETRC": str(netrc)}
    shown = {
        address: place.authorization
        for address in (
            "https://hub.example/nix/acme",
            "http://hub.example/nix/acme",
            "https://hub.example:8443/nix/acme",
            "https://cache.example/x/",
        )
        if isinstance(place := open_place(address, env), HttpPlace)
    }
    assert shown == {
        "https://hub.example/nix/acme": "Bearer hf_x",
        "http://hub.example/nix/acme": "",
        "https://hub.example:8443/nix/acme": "",
        "https://cache.example/x/": "Basic bWU6c2VjcmV0",
    }


@pytest.mark.parametrize("address", ["ftp://x/y", "https://", "file://host/x", "http://x/?y"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(InputError, match="is not the address of a cache"):
        open_place(address, {})


def test_command_line_replaces_caches_and_adds_keys(tmp_path: Path) -> None:
    public = str(generate("test-1", tmp_path / "key"))
    env = {"KERNELMILL_CACHES": " /a  /b ", "KERNELMILL_TRUSTED_KEYS": public}
    found = read_caches(env)
    assert [it.address for it in found.places] == ["/a", "/b"]
    assert [str(it) for it in found.trusted] == [public]
    found = read_caches(env, addresses=["/c"], keys=[public])
    assert [it.address for it in found.places] == ["/c"]
    assert len(found.trusted) == 2
