"""``--help`` answers at once: what a command works with is imported when it works."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kernelmill import console
from kernelmill.builder.cli import main

HEAVY = ("backends", "compile", "diagnosis", "job", "plan", "render", "sources", "toolchain")
SCRIPT = """\
import sys
from kernelmill.builder.cli import main
try:
    main([sys.argv[1], "--help"])
except SystemExit:
    pass
print(*sorted(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "command",
    [
        "build",
        "build-and-copy",
        "build-and-upload",
        "clean-pyproject",
        "create-pyproject",
        "doctor",
        "list-variants",
        "test",
    ],
)
def test_help_of_a_command_imports_nothing_that_builds(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, command], capture_output=True, text=True, check=True
    )
    imported = set(done.stderr.split())
    assert [it for it in HEAVY if f"kernelmill.builder.{it}" in imported] == []
    assert done.stdout.startswith(f"usage: kernel-builder {command} ")


def test_other_commands_are_not_read_for_the_help_of_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read: list[str] = []

    def read_help(path: str) -> str:
        read.append(path)
        return "text"

    monkeypatch.setattr(console, "read_help", read_help)
    with pytest.raises(SystemExit):
        main(["hash", "--help"])
    assert read == []
    with pytest.raises(SystemExit):
        main(["--help", "hash"])
    assert len(read) > 20
    assert "build-and-copy" in capsys.readouterr().out
