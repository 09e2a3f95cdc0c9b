from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.memo import Memo, memo_place

if TYPE_CHECKING:
    from pathlib import Path


def program(place: Path, text: str) -> Path:
    place.write_text(f"#!/bin/sh\necho run >> {place.parent}/runs\n{text}\n")
    place.chmod(0o755)
    return place


def runs(folder: Path) -> int:
    place = folder / "runs"
    return len(place.read_text().splitlines()) if place.exists() else 0


def test_answer_is_remembered_between_processes_until_the_program_changes(tmp_path: Path) -> None:
    tool, place = program(tmp_path / "tool", "echo one"), tmp_path / "cache/probes.json"
    for _ in range(2):
        answer = Memo(place).ask([str(tool), "--version"], timeout_s=5)
        assert (answer.status, answer.stdout) == (0, "one\n")
    assert runs(tmp_path) == 1
    program(tool, "echo another")
    assert Memo(place).ask([str(tool), "--version"], timeout_s=5).stdout == "another\n"
    os.utime(tool, ns=(1, 1))
    Memo(place).ask([str(tool), "--version"], timeout_s=5)
    assert runs(tmp_path) == 3


def test_answer_belongs_to_the_whole_command_and_to_the_file_behind_a_link(tmp_path: Path) -> None:
    first, second = program(tmp_path / "a", "echo $1"), program(tmp_path / "b", "echo b")
    memo, link = Memo(tmp_path / "probes.json"), tmp_path / "link"
    link.symlink_to(first)
    assert memo.ask([str(link), "x"], timeout_s=5).stdout == "x\n"
    assert memo.ask([str(link), "y"], timeout_s=5).stdout == "y\n"
    link.unlink()
    link.symlink_to(second)
    assert memo.ask([str(link), "x"], timeout_s=5).stdout == "b\n"


def test_failure_is_not_remembered(tmp_path: Path) -> None:
    tool, place = program(tmp_path / "tool", "exit 3"), tmp_path / "probes.json"
    for _ in range(2):
        assert Memo(place).ask([str(tool)], timeout_s=5).status == 3
    assert runs(tmp_path) == 2
    with pytest.raises(FileNotFoundError):
        Memo(place).ask([str(tmp_path / "none")], timeout_s=5)
    with pytest.raises(subprocess.TimeoutExpired):
        Memo(place).ask([str(program(tool, "exec sleep 5"))], timeout_s=0.1)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 9}', '{"format": 1, "answers": {"a": 1}}'])
def test_file_that_cannot_be_read_is_done_without(tmp_path: Path, text: str) -> None:
    place = tmp_path / "probes.json"
    place.write_text(text)
    tool = program(tmp_path / "tool", "echo one")
    assert Memo(place).ask([str(tool)], timeout_s=5).stdout == "one\n"
    assert Memo(place).ask([str(tool)], timeout_s=5).stdout == "one\n"
    assert runs(tmp_path) == 1


def test_place_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    tool = program(tmp_path / "tool", "echo one")
    memo = Memo(tmp_path / "file/probes.json")
    assert memo.ask([str(tool)], timeout_s=5).stdout == "one\n"
    assert Memo(None).ask([str(tool)], timeout_s=5).stdout == "one\n"


def test_place_of_the_memo(tmp_path: Path) -> None:
    assert memo_place({"KERNELMILL_PROBES": ""}) is None
    assert memo_place({"KERNELMILL_PROBES": str(tmp_path)}) == tmp_path
    cached = memo_place({"XDG_CACHE_HOME": str(tmp_path)})
    assert cached == tmp_path / "kernelmill/probes.json"
