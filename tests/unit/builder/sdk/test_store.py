from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.format import SdkInput, SdkRecord, dumps, parse
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.store import Store, is_within, open_store, parse_name, version_key
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.sdk.store import Sdk

INPUT = SdkInput(name="torch", version="2.12.0", file="torch.whl", sha256="a" * 64)


def install(store: Store, version: str, kind: str = "torch", text: str = "x") -> Sdk:
    with store.scratch() as scratch:
        tree = scratch / "tree-to-be"
        tree.mkdir()
        (tree / "file").write_text(text)
        record = SdkRecord(
            kind=kind,
            version=version,
            platform="x86_64-linux",
            inputs=(INPUT,),
            facts={"cuda": "13.0"},
            nar_sha256=nar_sha256(tree),
        )
        return store.install(record, tree)


def test_record_is_what_was_written(tmp_path: Path) -> None:
    record = install(Store(tmp_path), "2.12.0+cu130").record
    assert parse(dumps(record), where="sdk.json") == record


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param({"version": 2}, "not an SDK's description of version 1", id="newer"),
        pytest.param({"nar-sha256": "abc"}, "'abc' is not a SHA-256", id="hash"),
        pytest.param({"kind": 3}, "kind", id="type"),
        pytest.param({"release": "../x"}, "'torch-../x' is not the name of an SDK", id="path"),
        pytest.param({"inputs": [{}]}, "missing key 'name'", id="input"),
    ],
)
def test_damaged_records_are_refused(tmp_path: Path, change: dict[str, object], text: str) -> None:
    document = json.loads(dumps(install(Store(tmp_path), "2.12.0").record))
    with pytest.raises(SdkError) as caught:
        parse(json.dumps(document | change), where="sdk.json")
    assert text in str(caught.value)
    assert caught.value.hint == "remove the SDK's folder and fetch it again"
    with pytest.raises(SdkError, match="not valid JSON"):
        parse("{", where="sdk.json")


def test_store_finds_the_newest_of_what_was_asked_for(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for version in ("2.9.1", "2.12.0+cpu", "2.12.0+cu130", "2.12.10"):
        install(store, version)
    install(store, "2.28", kind="abi-stubs")
    assert [it.record.version for it in store.installed()] == [
        "2.28", "2.9.1", "2.12.0+cpu", "2.12.0+cu130", "2.12.10",
    ]  # fmt: skip
    asked = ("2.12", "2.12.0", "2.12.0+cpu", "2.1", "2.9", "3")
    found = [store.find("torch", version) for version in asked]
    versions = [it and it.record.version for it in found]
    assert versions == ["2.12.10", "2.12.0+cu130", "2.12.0+cpu", None, "2.9.1", None]


def test_store_says_how_to_get_what_is_missing(tmp_path: Path) -> None:
    store = Store(tmp_path / "none")
    assert store.installed() == ()
    with pytest.raises(SdkError, match=r"the SDK torch-2\.12\.0 is not here") as caught:
        store.require("torch", "2.12.0")
    assert caught.value.hint == "kernel-builder sdk fetch torch-2.12.0"
    assert not (tmp_path / "none").exists()


def test_sdk_replaces_one_of_its_name_and_leaves_nothing_behind(tmp_path: Path) -> None:
    store = Store(tmp_path)
    install(store, "2.12.0", text="old")
    sdk = install(store, "2.12.0", text="new")
    assert (sdk.tree / "file").read_text() == "new"
    assert sorted(it.name for it in tmp_path.iterdir()) == ["torch-2.12.0"]
    assert store.verify(sdk) == ""


def test_nothing_stays_of_an_sdk_that_was_not_finished(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def break_off() -> None:
        with store.scratch() as scratch:
            (scratch / "torch-2.12.0").mkdir()
            assert store.installed() == ()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_killed_processes_go_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / ".new-old", tmp_path / ".new-young"
    (old / "torch-2.12.0").mkdir(parents=True)
    young.mkdir()
    os.utime(old, (1, 1))
    install(Store(tmp_path), "2.12.0")
    assert sorted(it.name for it in tmp_path.iterdir()) == [".new-young", "torch-2.12.0"]


def test_verify_sees_every_change(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sdk = install(store, "2.12.0")
    (sdk.tree / "more").write_text("")
    assert store.verify(sdk).startswith("NAR sha256 is ")
    assert store.verify(sdk).endswith(f", want {sdk.record.nar_sha256}")


def test_folder_of_another_name_is_refused(tmp_path: Path) -> None:
    install(Store(tmp_path), "2.12.0").folder.rename(tmp_path / "torch-2.13.0")
    with pytest.raises(SdkError, match=r"this is torch-2\.12\.0, in a folder of another name"):
        Store(tmp_path).installed()


def test_store_is_where_the_environment_says(tmp_path: Path) -> None:
    assert open_store({"KERNELMILL_SDKS": str(tmp_path)}).folder == tmp_path
    cache = open_store({"XDG_CACHE_HOME": str(tmp_path)}).folder
    assert cache == tmp_path / "kernelmill" / "sdks"


def test_store_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SdkError, match="cannot write SDKs here") as caught:
        install(Store(tmp_path / "file"), "2.12.0")
    assert caught.value.hint == "name another folder with KERNELMILL_SDKS"


def test_names_are_kind_and_version() -> None:
    assert parse_name("torch-2.12.0+cu130") == ("torch", "2.12.0+cu130")
    assert parse_name("abi-stubs-2.28") == ("abi-stubs", "2.28")
    for text in ("torch", "torch-", "2.12.0", "torch-../x", "torch-2/1"):
        with pytest.raises(InputError, match="is not the name of an SDK"):
            parse_name(text)


def test_versions_are_compared_by_numbers() -> None:
    assert version_key("2.9.1") < version_key("2.12.0+cpu") < version_key("2.12.0+cu130")
    assert is_within("2.12.0+cu130", "2.12")
    assert not is_within("2.12.0", "2.1")
