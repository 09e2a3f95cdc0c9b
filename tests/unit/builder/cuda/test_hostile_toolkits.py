"""Toolkits that are none, and compilers that lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.cuda.made_up import toolkit, write_program, write_toolkit
from tests.unit.builder.cuda.test_cuda_probe import probe

from kernelmill.builder import memo
from kernelmill.builder.cuda.archs import check_archs
from kernelmill.builder.memo import Memo

if TYPE_CHECKING:
    from pathlib import Path


def problem(tmp_path: Path, home: Path | str) -> str:
    [found] = [it for it in probe(tmp_path, CUDA_HOME=str(home)) if it.source == "$CUDA_HOME"]
    return found.objection


@pytest.mark.parametrize(
    ("home", "said"),
    [
        ("x" * 5000, "not an absolute path"),
        ("/" + "x" * 5000, "cannot be read: File name too long"),
        ("cuda", "not an absolute path"),
        ("~/cuda", "not an absolute path"),
        ("/dev/null", "no bin/nvcc"),
        ("/none\n\"'$(x)", "no bin/nvcc"),
    ],
)
def test_folder_without_a_toolkit_is_an_objection(home: str, said: str, tmp_path: Path) -> None:
    assert problem(tmp_path, home) == said


def test_folder_with_quotes_and_spaces_is_a_toolkit(tmp_path: Path) -> None:
    home = write_toolkit(tmp_path / "my \"CUDA\" 'x' $y")
    assert problem(tmp_path, home) == ""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "nvcc does not say its version and architectures"),
        ("echo V13.0.88; echo compute_9", "nvcc does not say its version and architectures"),
        ("echo V13.0.88; echo compute_9000", "nvcc does not say its version and architectures"),
        ("printf '\\377\\376'", "nvcc does not say its version and architectures"),
        ("printf '\\377' >&2; exit 3", "fails: \ufffd"),
        ("kill -9 $$", "fails: status -9"),
        ("exec sleep 60", "does not run: "),
        ("cat", "nvcc does not say its version and architectures"),
    ],
)
def test_compiler_that_says_nonsense_is_an_objection(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memo, "COMPILER_TIMEOUT_S", 0.5)
    monkeypatch.setattr(memo, "open_memo", lambda: Memo(None))
    home = write_toolkit(tmp_path / "cuda")
    write_program(home / "bin/nvcc", script)
    assert problem(tmp_path, home).startswith(said)


@pytest.mark.parametrize(
    ("arch", "is_known"),
    [
        ("9.0a", True),
        ("10.0f", True),
        ("9.0+PTX", True),
        ("9.0a+PTX", True),
        ("12.0", True),
        ("12", False),
        ("99.9", False),
        ("9.0b", False),
        ("9.0f", False),
        ("8.0a", False),
        ("9.0+ptx", False),
        ("9.0 ", False),
        ("٩.0", False),
        ("", False),
    ],
)
def test_odd_capabilities(arch: str, is_known: bool) -> None:
    found = check_archs([arch], toolkit(), where="build.toml")
    assert (not found) == is_known
    assert all(it.hint for it in found)
