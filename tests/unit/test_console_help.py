from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from kernelmill import builder
from kernelmill.console import read_help

CLI = Path(builder.__file__).parent / "cli"
COMMANDS = sorted(it.stem for it in CLI.glob("*.py") if "HELP = " in it.read_text())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_read_from_the_source_as_the_module_says_it(name: str) -> None:
    path = f"kernelmill.builder.cli.{name}"
    assert read_help(path) == import_module(path).HELP


def test_help_of_all_commands_imports_none_of_them() -> None:
    script = (
        "import sys\n"
        "from kernelmill.builder.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        "print([it for it in sys.modules if it.startswith('kernelmill.builder.cli.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    *help_text, modules = done.stdout.splitlines()
    assert modules == "[]"
    assert any("create-pyproject" in line for line in help_text)
