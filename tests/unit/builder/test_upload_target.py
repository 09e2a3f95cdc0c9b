"""Where an upload goes is asked before anything is compiled, not after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import write_kernel

from kernelmill.builder.cli import build, main

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = """\
[general]
name = "soft-max"
version = 1
edition = 5
license = "MIT"
backends = ["cpu"]

[torch-noarch]
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def refuse(*_: object) -> int:
        raise AssertionError("nothing is built")

    monkeypatch.setattr(build, "run", refuse)
    return write_kernel(tmp_path / "soft-max", MANIFEST, {"torch-ext/soft_max/__init__.py": ""})


def test_upload_asks_for_a_repository_first(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build-and-upload", str(kernel)]) == 2
    assert capsys.readouterr().err == (
        "kernel-builder: build.toml general.hub: no repository to upload to\n"
        "  hint: pass --repo-id OWNER/soft-max, or write [general.hub] with "
        'repo-id = "OWNER/soft-max"\n'
    )


def test_upload_refuses_a_wrong_repository_and_a_wrong_folder_first(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build-and-upload", str(kernel), "--repo-id", "soft-max"]) == 2
    assert "--repo-id: 'soft-max' is not a repository id" in capsys.readouterr().err
    assert main(["upload", str(kernel / "nowhere"), "--repo-id", "acme/x"]) == 2
    assert "nowhere: no such folder" in capsys.readouterr().err
