"""What somebody may have put in the place of a small file: one clear error, and no waiting."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.runtime.kernel_files import write_files

from kernelmill.runtime import api, bundles, locks
from kernelmill.runtime.cache import Cache
from kernelmill.runtime.export_folder import _swap
from kernelmill.runtime.files import TooLarge, read_text
from kernelmill.runtime.load import read_metadata
from kernelmill.runtime.locking_project import read_project
from kernelmill.runtime.records import Records
from kernelmill.runtime.signatures.keys import read_trusted_keys
from kernelmill.spec.errors import DigestMismatch, InputError, KernelError, MetadataError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Callable

TOY = RepoId(namespace="acme", name="toy")
COMMIT = "a" * 40
ODD: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "loop": lambda path: path.symlink_to(path),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe"),
    "deep": lambda path: path.write_bytes(b"[" * 100_000),
}
DOCUMENTS = [
    '{"format":1,"files":[[5,5,5,5]],"folders":5}',
    '{"format":1,"files":[["a",1,"b",null]],"branches":{"../../x":"' + COMMIT + '"}}',
    '{"format":1,"is_trusted":true,"asked_at":' + "9" * 400 + "}",
    '{"format":1,"branches":{},"tags":{},"revisions":{},"asked_at":' + "9" * 400 + "}",
    '{"format":1,"branches":{},"tags":{},"revisions":{"../x":["' + COMMIT + '",1]},"asked_at":1}',
]


@pytest.mark.parametrize("odd", ODD)
def test_metadata_is_refused(tmp_path: Path, odd: str) -> None:
    ODD[odd](tmp_path / "metadata.json")
    with pytest.raises(MetadataError) as caught:
        read_metadata(tmp_path)
    assert caught.value.hint


@pytest.mark.parametrize("odd", ODD)
def test_lock_file_is_refused(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "kernels.lock"
    ODD[odd](path)
    with pytest.raises(InputError) as caught:
        api.load_kernel("acme/toy", lockfile=path)
    assert caught.value.hint
    with pytest.raises(InputError):
        locks.read_lockfile(path)


@pytest.mark.parametrize("odd", [*ODD, *DOCUMENTS])
def test_record_is_as_if_it_were_not_there(tmp_path: Path, odd: str) -> None:
    cache = Cache(root=tmp_path / "cache")
    records = Records(cache)
    records.write_trust("acme", is_trusted=True)
    records.write_files(TOY, COMMIT, "build", ())
    records.write_folders(TOY, COMMIT, "build", ())
    records.write_revision(TOY, "main", COMMIT)
    cache.remember_ref(TOY, "main", COMMIT)
    paths = [path for path in cache.root.rglob("*") if path.is_file()]
    assert len(paths) == 5
    for path in paths:
        path.unlink()
        ODD[odd](path) if odd in ODD else path.write_text(odd)
    assert records.read_trust("acme") is None
    assert records.read_files(TOY, COMMIT, "build") is None
    assert records.read_folders(TOY, COMMIT, "build") is None
    assert records.read_listing(TOY).names_of(COMMIT) == ()
    assert cache.read_ref(TOY, "main") == ""


@pytest.mark.parametrize(
    "name", ["../../../outside", "/outside", "a/../../..", "a\0b", "\ud800", ""]
)
def test_ref_is_not_noted_under_a_name_that_leads_elsewhere(tmp_path: Path, name: str) -> None:
    cache = Cache(root=tmp_path / "cache")
    cache.remember_ref(TOY, name, COMMIT)
    assert cache.read_ref(TOY, name) == ""
    assert list(tmp_path.iterdir()) == []


def test_folder_of_no_repository_is_left_out(tmp_path: Path) -> None:
    for name in ("acme--toy", "a b--c", "a--b--c", "\x1b--x", "..--x"):
        (tmp_path / f"kernels--{name}" / "refs").mkdir(parents=True)
    assert Cache(root=tmp_path).repositories() == ("acme/toy",)


def test_text_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("12345")
    assert read_text(path, limit_bytes=5) == "12345"
    with pytest.raises(TooLarge, match="larger than 4 bytes"):
        read_text(path, limit_bytes=4)


@pytest.mark.parametrize("name", [None, 5, ["acme/toy"], b"acme/toy", "a" * 10_000])
def test_name_of_another_type_is_refused(name: object) -> None:
    get_kernel: Any = api.get_kernel
    for arguments in ({}, {"version": 1}):
        with pytest.raises(InputError, match="is not a repository id") as caught:
            get_kernel(name, **arguments)
        assert len(str(caught.value)) < 300


def test_backend_of_another_type_is_refused() -> None:
    backend: Any = 5
    with pytest.raises(InputError, match="5 is no backend"):
        api.get_kernel("acme/toy", version=1, backend=backend)


def test_bundle_is_put_back_when_its_replacement_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, out, old = tmp_path / "new", tmp_path / "out", tmp_path / "old"
    write_files(out, {"file": b"precious"})
    new.mkdir()
    rename = Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if path == new:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _swap(new, out, old)
    assert (out / "file").read_bytes() == b"precious"


def test_lock_says_which_cache_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fcntl.flock", no_room)
    with (
        pytest.raises(KernelError, match="cannot write the cache: No space left on device"),
        Cache(root=tmp_path).lock(TOY),
    ):
        pass


@pytest.mark.parametrize("odd", ODD)
def test_project_and_keys_are_refused(tmp_path: Path, odd: str) -> None:
    ODD[odd](tmp_path / "pyproject.toml")
    with pytest.raises(InputError) as caught:
        read_project(tmp_path)
    assert caught.value.hint
    ODD[odd](tmp_path / "key.pem")
    with pytest.raises(InputError):
        read_trusted_keys(tmp_path / "key.pem")


@pytest.mark.parametrize("odd", ["pipe", "endless", "folder", "loop"])
def test_file_of_a_bundle_is_refused(tmp_path: Path, odd: str) -> None:
    ODD[odd](tmp_path / "metadata.json")
    with pytest.raises(DigestMismatch, match=r"Missing file: metadata\.json"):
        bundles._check_file(tmp_path, "metadata.json", "0" * 64)
