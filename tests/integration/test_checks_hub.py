"""L14: a new build is compared with what a Hub serves under its version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.integration.test_runtime_hub import upload
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.builder.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.test_runtime_hub import Upload

__all__ = ["upload"]  # a fixture


def test_l14_build_that_breaks_a_call_of_its_version_is_refused(
    upload: Upload, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert upload("acme/surface") == 0
    sources = {"__init__.py": "VALUE = 1\n\n\ndef double(x, out): ...\n"}
    new = tmp_path / "new"
    write_files(new / "build" / "torch-cpu", kernel_files(sources=sources))
    capsys.readouterr()
    assert main(["check-builds", str(new), "--against", "acme/surface@v1"]) == 1
    assert "+ double(x, out)  (out is new, and has to be given)" in capsys.readouterr().out
    assert main(["check-builds", str(new), "--against", "acme/surface@v7"]) == 2
    assert "acme/surface@v7: cannot be fetched: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["no-such-folder", "no/such/folder@v1@v2"])
def test_earlier_build_that_is_no_folder_is_said(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path / "build" / "torch-cpu", kernel_files())
    assert main(["check-builds", str(tmp_path), "--against", name]) == 2
    assert f"{name}: there is no such folder" in capsys.readouterr().err
