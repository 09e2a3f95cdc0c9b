"""Wheels that lie, stores that are damaged, and two that put the same SDK in its place."""

from __future__ import annotations

import errno
import os
import struct
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.sdk.test_store import install
from tests.unit.builder.sdk.wheels import torch_wheel, write_wheel

from kernelmill.builder.cli import main
from kernelmill.builder.errors import SdkError
from kernelmill.builder.package import replace_folder
from kernelmill.builder.sdk import fetch, store
from kernelmill.builder.sdk.making import make_sdk
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.recipes import torch
from kernelmill.builder.sdk.store import Store
from kernelmill.builder.sdk.wheels import open_wheel, unpack
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.sdk.store import Sdk

WHEEL = "torch-2.12.0-cp311-cp311-manylinux_2_28_x86_64.whl"


def make(tmp_path: Path, platform: str = "x86_64-linux") -> Sdk:
    return make_sdk(
        "torch",
        "2.12.0",
        Store(tmp_path / "store"),
        platform=platform,
        cxx="g++",
        offline=tmp_path,
        note=lambda _: None,
    )


@pytest.fixture(autouse=True)
def unpinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "known_files", lambda *_: {})


def patched(path: Path, change: tuple[int, int]) -> Path:
    """Write a wheel of one packed file, and set a 16 bit number in both of its headers."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("torch/version.py", b"x" * 1000)
    data = bytearray(path.read_bytes())
    offset, value = change
    central = data.index(b"PK\x01\x02")
    struct.pack_into("<H", data, offset, value)
    struct.pack_into("<H", data, central + offset + 2, value)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param((6, 1), "password required", id="with a password"),
        pytest.param((8, 97), "compression method|not supported", id="packed oddly"),
        pytest.param((8, 14), "LZMA|Corrupt|Bad CRC-32", id="packed in another way"),
    ],
)
def test_wheel_that_cannot_be_unpacked_is_one_error(
    change: tuple[int, int], problem: str, tmp_path: Path
) -> None:
    path = patched(tmp_path / WHEEL, change)
    with (
        pytest.raises(SdkError, match=f"not the wheel that is wanted: .*({problem})"),
        open_wheel(path) as wheel,
    ):
        unpack(wheel, tmp_path / "tree", place=lambda it: it)


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99])
def test_wheel_that_is_cut_off_leaves_no_sdk(kept: float, tmp_path: Path) -> None:
    path = torch_wheel(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data)) if kept < 1 else int(kept)])
    with pytest.raises(SdkError, match="not the wheel that is wanted"):
        make(tmp_path)
    assert list((tmp_path / "store").iterdir()) == []


def test_wheel_whose_bytes_were_changed_leaves_no_sdk(tmp_path: Path) -> None:
    path = tmp_path / WHEEL
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("torch/version.py", os.urandom(5000).hex())
    data = bytearray(path.read_bytes())
    data[200:260] = b"\xff" * 60
    path.write_bytes(data)
    with pytest.raises(SdkError, match="not the wheel that is wanted"):
        make(tmp_path)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["../evil"], "'../evil', which leads out of the folder"),
        (["/evil"], "'/evil', which leads out of the folder"),
        (["a/../../evil"], "leads out of the folder"),
        (["a", "a/b"], "'a/b', which is a file and a folder"),
        (["a/b", "a"], "'a', which is a file and a folder"),
    ],
)
def test_wheel_whose_paths_lie_is_refused(names: list[str], problem: str, tmp_path: Path) -> None:
    path = write_wheel(tmp_path / WHEEL, dict.fromkeys(names, "x"))
    with pytest.raises(SdkError, match=problem) as caught, open_wheel(path) as wheel:
        unpack(wheel, tmp_path / "tree", place=lambda it: it)
    assert (caught.value.where, caught.value.hint) == (str(path), "do not use this wheel")
    assert not (tmp_path / "evil").exists()


def test_link_in_a_wheel_becomes_a_file(tmp_path: Path) -> None:
    path = tmp_path / WHEEL
    with zipfile.ZipFile(path, "w") as wheel:
        link = zipfile.ZipInfo("a")
        link.external_attr = 0o120777 << 16
        wheel.writestr(link, "/etc")
        wheel.writestr("a2/passwd", "mine")
    with open_wheel(path) as wheel:
        unpack(wheel, tmp_path / "tree", place=lambda it: it)
    assert not (tmp_path / "tree/a").is_symlink()


def test_wheel_for_another_platform_is_not_taken(tmp_path: Path) -> None:
    own = torch_wheel(tmp_path)
    for platform in ("manylinux_2_28_aarch64", "win_amd64", "macosx_11_0_x86_64"):
        own.with_name(own.name.replace("manylinux_2_28_x86_64", platform)).write_bytes(b"other")
    assert make(tmp_path).record.inputs[0].file == own.name
    own.unlink()
    with pytest.raises(InputError, match=r"no wheel of torch 2\.12\.0 here that is for x86_64"):
        make(tmp_path)


def test_folder_that_is_called_like_a_wheel_is_none(tmp_path: Path) -> None:
    (tmp_path / WHEEL).mkdir()
    with pytest.raises(InputError, match=r"no wheel of torch 2\.12\.0 here"):
        make(tmp_path)


def test_compiler_that_does_not_run_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(SdkError, match=r"does not run: .*none"):
        fetch._local_library("libgcc_s.so.1", str(tmp_path / "none"))


@pytest.mark.parametrize("action", ["list", "verify"])
def test_description_that_cannot_be_read_is_one_error(
    action: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path))
    (tmp_path / "torch-2.12.0/sdk.json").mkdir(parents=True)
    assert main(["sdk", action]) == 3
    said = capsys.readouterr().err
    assert "sdk.json: cannot be read: Is a directory" in said
    assert "hint: remove the SDK's folder" in said


def test_file_with_a_name_that_is_no_text_is_a_change(tmp_path: Path) -> None:
    sdk = install(Store(tmp_path), "2.12.0")
    (sdk.tree / os.fsdecode(b"\xff")).symlink_to(os.fsdecode(b"\xfe"))
    assert "want " in Store(tmp_path).verify(sdk)


def test_hash_counts_the_bytes_of_a_name(tmp_path: Path) -> None:
    hashes = set()
    for name in ("é", os.fsdecode(b"\xff")):
        (tmp_path / name).touch()
        hashes.add(nar_sha256(tmp_path))
        (tmp_path / name).unlink()
    assert len(hashes) == 2


def test_file_that_vanishes_while_it_is_verified_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = install(Store(tmp_path), "2.12.0")

    def fail(_: Path) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", "secret")

    monkeypatch.setattr(store, "nar_sha256", fail)
    assert Store(tmp_path).verify(sdk) == "secret cannot be read: Permission denied"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOTEMPTY])
def test_sdk_that_another_puts_there_meanwhile_gives_way(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Path] = []

    def race(new: Path, target: Path, *, trash: Path) -> None:
        tries.append(new)
        if len(tries) < 3:
            raise OSError(number, os.strerror(number))
        replace_folder(new, target, trash=trash)

    monkeypatch.setattr(store, "replace_folder", race)
    assert install(Store(tmp_path), "2.12.0").folder.is_dir()
    assert len(tries) == 3
