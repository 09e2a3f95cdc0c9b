"""A mistyped command or option is answered with the one that was probably meant."""

from __future__ import annotations

import pytest

from kernelmill.builder.cli import main
from kernelmill.runtime.cli import main as kernels


def said_by(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return the usage's first line, and the error."""
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    usage, *_, error = capsys.readouterr().err.splitlines()
    return usage, error


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        ([], "kernel-builder: error: name a command; `kernel-builder --help` lists all"),
        (["buid"], "kernel-builder: error: unknown command 'buid': did you mean 'build'?"),
        (["frob"], "kernel-builder: error: unknown command 'frob': `kernel-builder --help` lists"),
    ],
)
def test_a_wrong_command_is_one_line(
    argv: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usage, said = said_by(argv, capsys)
    assert said.startswith(error)
    assert usage == "usage: kernel-builder [-h] [--version] COMMAND ..."


def test_a_wrong_option_brings_the_usage_of_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    usage, said = said_by(["test", ".", "--emulat"], capsys)
    assert usage.startswith("usage: kernel-builder test [DIR] [options]")
    assert said == (
        "kernel-builder test: error: unrecognized arguments: --emulat did you mean '--emulate'?"
    )
    _, said = said_by(["build", "a", "b", "--bckend=cpu"], capsys)
    assert said.endswith("unrecognized arguments: b --bckend=cpu did you mean '--backend'?")


def test_the_version_is_printed_before_any_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        kernels(["--version", "nonsense"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("kernels ")
