from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.conftest import require_program

from kernelmill.builder.toolchain.git import probe_source_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., None]:
    """Run git in a new repository."""
    git = require_program("git", package="git")

    def run(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        command = [git, "-C", str(tmp_path), *identity, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    run("init")
    (tmp_path / ".gitignore").write_text(".cache/\n")
    for folder in (".cache/kernel", "copy", "forced/.cache"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.cpp").write_text("")
    run("add", ".gitignore")
    run("commit", "-m", "first")
    return run


def test_folder_that_git_ignores_is_outside_of_git(
    run: Callable[..., None], tmp_path: Path
) -> None:
    assert probe_source_state(tmp_path / ".cache/kernel", ["a.cpp"]) is None


def test_folder_that_git_only_does_not_track_is_dirty(
    run: Callable[..., None], tmp_path: Path
) -> None:
    state = probe_source_state(tmp_path / "copy", ["a.cpp"])
    assert state is not None
    assert state.is_dirty is True


def test_ignored_folder_whose_files_were_added_is_part_of_the_repository(
    run: Callable[..., None], tmp_path: Path
) -> None:
    run("add", "--force", "forced/.cache/a.cpp")
    run("commit", "-m", "second")
    state = probe_source_state(tmp_path / "forced/.cache", ["a.cpp"])
    assert state is not None
    assert state.is_dirty is False
