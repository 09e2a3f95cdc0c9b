from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.errors import FilesExist
from kernelmill.builder.fileset import FileSet
from kernelmill.spec.errors import HostError

if TYPE_CHECKING:
    from pathlib import Path

FILES = FileSet({"b.txt": "b\n", "a/x.txt": "x\n", "a/y.txt": "y\n"})


def test_write_makes_folders_and_says_what_is_new(tmp_path: Path) -> None:
    assert FILES.write(tmp_path) == ("a/x.txt", "a/y.txt", "b.txt")
    assert (tmp_path / "a/x.txt").read_text() == "x\n"


def test_write_names_every_clash_and_writes_nothing(tmp_path: Path) -> None:
    for path in ("a/y.txt", "b.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("mine\n")
    with pytest.raises(FilesExist, match="2 file") as caught:
        FILES.write(tmp_path)
    assert "a/y.txt\n  b.txt" in str(caught.value)
    assert "--force" in caught.value.hint
    assert isinstance(caught.value, FileExistsError)
    assert not (tmp_path / "a/x.txt").exists()
    assert (tmp_path / "b.txt").read_text() == "mine\n"


def test_write_replaces_with_force_and_leaves_equal_files_alone(tmp_path: Path) -> None:
    FILES.write(tmp_path)
    before = (tmp_path / "a/x.txt").stat().st_mtime_ns
    (tmp_path / "b.txt").write_text("mine\n")
    assert FILES.write(tmp_path, force=True) == ("b.txt",)
    assert (tmp_path / "a/x.txt").stat().st_mtime_ns == before
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "b.txt", "x.txt", "y.txt"]


def test_write_says_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file where a folder should be")
    with pytest.raises(HostError, match=r"cannot write a/x\.txt") as caught:
        FILES.write(tmp_path)
    assert caught.value.where == str(tmp_path)


def test_remove_takes_files_and_empty_folders(tmp_path: Path) -> None:
    FILES.write(tmp_path)
    (tmp_path / "a/mine.txt").write_text("mine\n")
    FILES.remove(tmp_path, FILES.removable(tmp_path))
    assert [p.name for p in sorted(tmp_path.rglob("*"))] == ["a", "mine.txt"]


def test_removable_refuses_changed_files_without_force(tmp_path: Path) -> None:
    FILES.write(tmp_path)
    (tmp_path / "b.txt").write_text("mine\n")
    with pytest.raises(FilesExist, match=r"this would remove 1 changed file:\n  b.txt"):
        FILES.removable(tmp_path)
    assert "b.txt" in FILES.removable(tmp_path, force=True)
