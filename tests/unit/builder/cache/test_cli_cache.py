"""`kernel-builder cache` and `nix`: what they refuse before anything is sent or fetched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.cli import main
from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.store import Store

if TYPE_CHECKING:
    from pathlib import Path

VARIABLES = (
    *("KERNELMILL_CACHES", "KERNELMILL_TRUSTED_KEYS", "KERNELMILL_CACHE_KEY"),
    *("HF_TOKEN", "HF_ENDPOINT"),
)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "sdks"))
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "version.py").write_text("x")
    record = SdkRecord(
        kind="torch",
        version="2.98.0",
        platform="x86_64-linux",
        inputs=(),
        nar_sha256=nar_sha256(tree),
    )
    store = Store(tmp_path / "sdks")
    store.install(record, tree)
    return store


@pytest.mark.parametrize(
    ("command", "status", "text"),
    [
        ("cache push --to {tmp}/c", 2, "nothing is named"),
        ("cache push torch-2.98.0", 2, "KERNELMILL_CACHES names 0 caches"),
        ("cache push torch-2.98.0 --to {tmp}/c", 2, "nobody signs"),
        ("cache push torch-2.98.0 --to {tmp}/c --key {tmp}/k", 2, "cannot be read: No such file"),
        (
            "cache push torch-2.98.0 --to ftp://x/y --key {tmp}/k",
            2,
            "is not the address of a cache",
        ),
        ("cache pull torch-2.97.0", 2, "no cache is named"),
        ("cache pull torch-2.97.0 --from {tmp}/c", 4, "no cache has torch-2.97.0"),
        ("cache pull --from {tmp}/c --build x", 2, "--build and --build-key go together"),
        ("cache pull --from {tmp}/c --build x --build-key k", 4, "no cache has x of this key"),
        ("cache pull torch-2.97.0 --from {tmp}/c --trust x", 2, "--trust: not a key of a binary"),
        ("cache pull what --from {tmp}/c", 2, "'what' is not the name of an SDK"),
        ("cache keygen bad:name {tmp}/k", 2, "'bad:name' cannot name a key"),
        ("nix import torch-2.97.0", 3, "the SDK torch-2.97.0 is not here"),
    ],
)
def test_refusal(
    command: str, status: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.format(tmp=tmp_path).split()) == status
    assert text in capsys.readouterr().err


def test_import_without_nix_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["nix", "import"]) == 3
    assert "there is no nix here\n  hint: install nix-bin" in capsys.readouterr().err


def test_import_of_a_changed_sdk_is_refused(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    (store.folder / "torch-2.98.0/tree/version.py").write_text("changed")
    assert main(["nix", "import"]) == 1
    assert "NAR sha256 is" in capsys.readouterr().err


def test_folder_serves_as_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key, cache = tmp_path / "key", f"file://{tmp_path}/cache"
    assert main(["cache", "keygen", "test-1", str(key)]) == 0
    public = capsys.readouterr().out.strip()
    push = ["cache", "push", "torch-2.98.0", "--to", cache, "--key", str(key), "--json"]
    assert main(push) == 0
    (sent,) = json.loads(capsys.readouterr().out)["transfers"]
    assert (sent["name"], sent["address"]) == ("torch-2.98.0", str(tmp_path / "cache"))
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "empty"))
    monkeypatch.setenv("KERNELMILL_TRUSTED_KEYS", public)
    assert main(["cache", "pull", "torch-2.98.0", "--from", cache, "--json"]) == 0
    folders = json.loads(capsys.readouterr().out)["folders"]
    assert folders == [str(tmp_path / "empty/torch-2.98.0")]
    assert main(["cache", "info", "torch-2.98.0", "--from", cache]) == 0
    assert "torch-2.98.0: signed by test-1" in capsys.readouterr().out
