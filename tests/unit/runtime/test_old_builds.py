"""Builds from before metadata had all its keys."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kernelmill.runtime.load import read_metadata

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_reading_an_old_build_tells_what_it_lacks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # L7
    folder = tmp_path / "torch-cpu"
    folder.mkdir()
    (folder / "metadata.json").write_text('{"version": 1, "license": "MIT", "python-depends": []}')
    with caplog.at_level(logging.INFO):
        assert read_metadata(folder, name="relu").name == "relu"
    assert [it.getMessage() for it in caplog.records] == [
        f"{folder}: an old build, whose metadata lacks name, id, backend: defaults are used"
    ]
