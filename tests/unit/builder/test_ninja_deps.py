"""Which files were read, as Ninja tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import program, toolchain

from kernelmill.builder.compile import Workspace, read_dependencies
from kernelmill.builder.errors import ToolchainError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.toolchain import Toolchain


def with_ninja(tmp_path: Path, script: str) -> Toolchain:
    ninja = tmp_path / "ninja"
    ninja.write_text(f"#!/bin/sh\n{script}\n")
    ninja.chmod(0o755)
    return toolchain(ninja=program("ninja", str(ninja)))


def test_ninja_that_fails_is_one_clear_line(tmp_path: Path) -> None:
    tools = with_ninja(tmp_path, "echo 'ninja: error: loading .ninja_deps: damaged' >&2\nexit 1")
    place = Workspace(root=tmp_path, folder=tmp_path / "work")
    with pytest.raises(ToolchainError) as caught:
        read_dependencies(tools, place)
    assert caught.value.problem == (
        "ninja does not tell which files the compilers read: "
        "ninja: error: loading .ninja_deps: damaged"
    )
    assert caught.value.where == str(place.binary)
    assert caught.value.hint == "remove that folder, and build again"


def test_file_whose_name_is_no_utf8_is_read_like_others(tmp_path: Path) -> None:
    tools = with_ninja(tmp_path, f"printf 'a.o: #deps 1\\n    {tmp_path}/k\\377.h\\n'")
    (found,) = read_dependencies(tools, Workspace(root=tmp_path, folder=tmp_path / "work"))
    assert found == tmp_path / "k\udcff.h"
