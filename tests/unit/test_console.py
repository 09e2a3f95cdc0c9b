from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelmill import console
from kernelmill.runtime.cli.output import print_facts, print_table
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    import argparse

HELP = "say something"
EVIL = "\x1b[2J\x07\r\x9b31m\u202e\ud800 ü\tok\nnext"
TAMED = r"\x1b[2J\x07\r\x9b31m\u202e\ud800 ü" + "\tok\nnext"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what")


def run(args: argparse.Namespace) -> int:
    if args.what == "fail":
        raise InputError(EVIL)
    print(args.what)  # noqa: T201 - a command's result
    return 0


def say(what: str) -> int:
    return console.run_console("tool", "a tool", {"say": __name__}, ["say", what])


def test_error_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert say("fail") == 2
    assert capsys.readouterr().err == f"tool: {TAMED}\n"


def test_table_and_facts_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts({"name": EVIL})
    print_table(("build",), [(EVIL,)])
    assert capsys.readouterr().out == f"name  {TAMED}\nbuild\n{TAMED}\n"


def run_tool(what: str, output: str, **environ: str) -> tuple[int, str]:
    code = f"import sys; from {__name__} import say; sys.exit(say({what!r}))"
    root = Path(__file__).parents[2]
    paths = f"{root}:{root / 'src'}"
    with open(output, "wb") as file:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=file,
            stderr=subprocess.PIPE,
            env={"PYTHONPATH": paths, **environ},
            text=True,
            check=False,
        )
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_is_named_when_the_output_goes_there() -> None:
    told = "tool: cannot write the output: No space left on device\n"
    assert run_tool("x", "/dev/full") == (3, told)


def test_output_is_written_when_its_encoding_lacks_a_character(tmp_path: Path) -> None:
    path = tmp_path / "out"
    assert run_tool("ü\ud800", str(path), PYTHONIOENCODING="ascii") == (0, "")
    assert path.read_text() == "\\xfc\\ud800\n"


def test_log_message_cannot_drive_the_terminal() -> None:
    assert say("something") == 0
    assert logging.lastResort
    record = logging.LogRecord("kernelmill", logging.WARNING, "", 1, "%s", (EVIL,), None)
    assert logging.lastResort.format(record) == TAMED
