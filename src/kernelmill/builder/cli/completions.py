"""``kernel-builder completions``: print what makes a shell complete our words."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import note

if TYPE_CHECKING:
    import argparse

HELP = "print the completion script of a shell"
_SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "shell", nargs="?", choices=_SHELLS, help="by default the one that SHELL names"
    )


def run(args: argparse.Namespace) -> int:
    """Print the script; where it belongs goes to a terminal's standard error."""
    from kernelmill.builder.cli import COMMANDS, PROG  # noqa: PLC0415 - they import this module
    from kernelmill.builder.errors import PlanError  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.shell_completion import PLACES, render_completion  # noqa: PLC0415
    from kernelmill.builder.shell_words import read_commands  # noqa: PLC0415 - imports all commands

    shell = args.shell or os.path.basename(os.environ.get("SHELL", ""))  # noqa: PTH119 - a name
    if shell not in _SHELLS:
        raise PlanError(
            f"{shell!r} is no shell that can be served",
            where="SHELL",
            hint=f"name one: {', '.join(_SHELLS)}",
        )
    print(render_completion(shell, PROG, read_commands(PROG, COMMANDS)), end="")
    if sys.stdout.isatty():
        note(f"# save it as {PLACES[shell].format(prog=PROG)}")
    return 0
