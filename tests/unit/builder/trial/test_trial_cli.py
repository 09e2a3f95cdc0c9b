"""``kernel-builder test``: what it says before anything is run."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import write_kernel

from kernelmill.builder.cli import main, test, testing
from kernelmill.builder.errors import ToolchainError
from kernelmill.builder.trial.plan import parse_question
from kernelmill.console import run_console

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

COMMANDS = {"test": "kernelmill.builder.cli.test", "build": "kernelmill.builder.cli.build"}


def test_command_says_what_to_do_when_there_is_no_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", str(tmp_path)]) == 2
    assert f"{tmp_path}: no build.toml here" in capsys.readouterr().err


def test_command_says_what_to_do_when_there_are_no_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", str(write_kernel(tmp_path))]) == 2
    errors = capsys.readouterr().err
    assert f"{tmp_path}: no folder tests here" in errors
    assert "hint: `kernel-builder init` writes one to start from" in errors


def test_command_says_what_to_do_when_nothing_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (write_kernel(tmp_path) / "tests").mkdir()
    # A folder without metadata is a build that did not end.
    (tmp_path / "build/torch213-cxx11-cpu-x86_64-linux").mkdir(parents=True)
    assert main(["test", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"kernel-builder: nothing is built yet\n  hint: run `kernel-builder build {tmp_path}`\n"
    )


@pytest.mark.parametrize(
    ("missing", "emulate", "hint"),
    [
        pytest.param("pytest", False, "pip install pytest", id="pytest"),
        pytest.param(
            "numpy", True, 'pip install ".[emulator]" in a clone of kernelmill', id="numpy"
        ),
    ],
)
def test_missing_package_is_named_when_a_run_would_need_it(
    monkeypatch: pytest.MonkeyPatch, *, missing: str, emulate: bool, hint: str
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else find(name)
    )
    question = parse_question(".", backends=None, emulate=emulate, sanitize=False)
    with pytest.raises(ToolchainError) as caught:
        testing.require_modules(question)
    assert str(caught.value) == f"the Python package {missing} is not installed\n  hint: {hint}"


def test_words_after_the_dashes_are_left_alone_when_a_command_takes_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []

    def run(args: argparse.Namespace) -> int:
        seen.append((str(args.dir), args.rest))
        return 0

    monkeypatch.setattr(test, "run", run)
    for words in (["test"], ["test", "--", "-k", "x"], ["test", "d", "--json", "--", "--", "-x"]):
        assert run_console("kernel-builder", "Build.", COMMANDS, words) == 0
    monkeypatch.setattr(sys, "argv", ["kernel-builder", "test", "--emulate", "--", "a"])
    assert run_console("kernel-builder", "Build.", COMMANDS) == 0
    assert seen == [(".", []), (".", ["-k", "x"]), ("d", ["--", "-x"]), (".", ["a"])]
    with pytest.raises(SystemExit):
        run_console("kernel-builder", "Build.", COMMANDS, ["build", ".", "--", "-k"])
    assert "unrecognized arguments: -k" in capsys.readouterr().err
