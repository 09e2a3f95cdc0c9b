from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.errors import ToolchainError
from kernelmill.builder.toolchain import require
from kernelmill.builder.toolchain.programs import probe_cmake, probe_cxx, probe_program

if TYPE_CHECKING:
    from pathlib import Path


def write_program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_probe_program_keeps_what_was_tried_and_takes_the_first_that_works(tmp_path: Path) -> None:
    broken = write_program(tmp_path / "broken", "exit 3")
    good = write_program(tmp_path / "good", "echo 'tool (Debian) 4.5.6'")
    other = write_program(tmp_path / "other", "echo 'tool 9.0'")
    found = probe_program(
        "tool", [("env", "/nowhere/tool"), ("a", broken), ("b", good), ("c", other)]
    )
    assert [(c.source, c.version, c.problem) for c in found.candidates] == [
        ("env", "", "not found"),
        ("a", "", "--version exits 3"),
        ("b", "4.5.6", ""),
        ("c", "9.0", ""),
    ]
    assert found.chosen is found.candidates[2]


def test_probe_cxx_takes_only_what_cxx_names(tmp_path: Path) -> None:
    compiler = write_program(tmp_path / "my++", "echo 'my++ 1.2'")
    assert [c.path for c in probe_cxx({"CXX": compiler}).candidates] == [compiler]
    assert len(probe_cxx({"CXX": ""}).candidates) == 3


def test_require_says_what_was_tried() -> None:
    with pytest.raises(ToolchainError) as caught:
        require(probe_cxx({"CXX": "/nowhere/g++"}))
    assert caught.value.problem == "no usable C++ compiler; tried /nowhere/g++ (not found)"


def test_probe_cmake_prefers_the_wheel() -> None:
    found = probe_cmake()
    assert found.chosen is not None
    assert found.chosen.source == "wheel"
