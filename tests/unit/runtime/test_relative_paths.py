"""Relative paths in the environment start from the folder that the process is in at each call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.unit.runtime.kernel_files import kernel_files, write_files

import kernels
from kernelmill.runtime.memo import _key_of
from kernelmill.runtime.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_local_kernel_is_the_one_of_the_folder_the_process_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_KERNELS", "acme/toy=toy")
    for value in (1, 2):
        folder = tmp_path / str(value)
        files = kernel_files(value=value, module_id=f"_toy_here_{value}")
        write_files(folder / "toy/build/torch-universal", files)
        monkeypatch.chdir(folder)
        assert value == kernels.get_kernel("acme/toy", version=1).VALUE


def test_memory_of_calls_tells_folders_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELS_CACHE", "cache")
    before = _key_of(("acme/toy",), {"version": 1})
    monkeypatch.chdir(tmp_path)
    assert _key_of(("acme/toy",), {"version": 1}) not in {before, None}


def test_removed_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert _key_of(("acme/toy",), {"version": 1}) is not None
    monkeypatch.setenv("KERNELS_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "https://huggingface.co")
    assert read_settings().cache_dir == tmp_path
    assert not os.path.exists(gone)  # noqa: PTH110 - as the process sees it
