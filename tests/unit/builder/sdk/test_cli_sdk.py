from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.sdk.wheels import torch_wheel

from kernelmill.builder.cli import main
from kernelmill.builder.sdk.recipes import torch

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty store, and know no files."""
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "sdks"))
    monkeypatch.setattr(torch, "known_files", lambda *_: {})
    return tmp_path / "sdks"


def test_sdk_list_says_what_can_be_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sdk", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        "torch-2.12.0  not here: PyTorch's headers, CMake files and link stubs, from its wheel"
        in lines
    )
    assert any(line.startswith("abi-stubs-2.28  not here: stubs of glibc") for line in lines)


def test_sdk_fetch_makes_verifies_and_keeps(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch_wheel(tmp_path / "wheels")
    fetch = ["sdk", "fetch", "torch-2.12", "--from", str(tmp_path / "wheels")]
    assert main(fetch) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{store / 'torch-2.12.0+cu130'}\n"
    assert "torch-2.12: making a stub of libc10.so\n" in captured.err
    assert "torch-2.12: made torch-2.12.0+cu130, NAR sha256 " in captured.err
    assert main(fetch) == 0
    assert "torch-2.12.0+cu130 is here already; --force makes it again" in capsys.readouterr().err
    assert main(["sdk", "verify", "torch-2.12.0", "--json"]) == 0
    (verified,) = json.loads(capsys.readouterr().out)["sdks"]
    assert (verified["name"], verified["problem"]) == ("torch-2.12.0+cu130", "")
    (store / "torch-2.12.0+cu130/tree/torch/version.py").write_text("")
    assert main(["sdk", "verify"]) == 1
    assert capsys.readouterr().out.startswith("torch-2.12.0+cu130: NAR sha256 is ")
    assert main([*fetch, "--force"]) == 0
    assert main(["sdk", "verify"]) == 0


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        pytest.param(["fetch", "torch"], 2, "'torch' is not the name of an SDK", id="name"),
        pytest.param(["fetch", "toast-1.0"], 2, "no recipe makes 'toast'", id="kind"),
        pytest.param(["fetch", "torch-2.7"], 2, "'2.7' is not a release of PyTorch", id="release"),
        pytest.param(["fetch", "abi-stubs-2.17"], 2, "there is abi-stubs-2.28", id="glibc"),
        pytest.param(["verify", "torch-2.12"], 3, "kernel-builder sdk fetch torch-2.12", id="none"),
    ],
)
def test_sdk_refuses(
    store: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, text: str
) -> None:
    assert main(["sdk", *arguments]) == status
    assert text in capsys.readouterr().err
    assert not store.exists() or list(store.iterdir()) == []
