"""The frame of every command line: parse, run one command, print one clear error, exit."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from kernelmill import __version__
from kernelmill.spec.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    class Command(Protocol):
        """What a command's module offers. Heavy imports belong inside ``run``.

        With ``TAKES_REST = True`` the words after ``--`` are not parsed: they are ``args.rest``.
        """

        HELP: str

        def configure(self, parser: argparse.ArgumentParser) -> None:
            """Declare the command's arguments."""

        def run(self, args: argparse.Namespace) -> int:
            """Do the work and return the exit status."""


def run_console(
    prog: str, description: str, commands: Mapping[str, str], argv: Sequence[str] | None = None
) -> int:
    """Run ``prog`` with ``argv`` and return its exit status.

    Args:
        prog: the program's name.
        description: one line for ``--help``.
        commands: command name -> module path; the module is a ``Command``.
        argv: the arguments; those of the process by default.
    """
    parser = argparse.ArgumentParser(prog=prog, description=description, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    words = list(sys.argv[1:] if argv is None else argv)
    rest: list[str] = []
    for name, module_path in commands.items():
        command = cast("Command", import_module(module_path))
        subparser = subparsers.add_parser(
            name, help=command.HELP, description=command.HELP, allow_abbrev=False
        )
        command.configure(subparser)
        subparser.set_defaults(run=command.run)
        if words[:1] == [name] and getattr(command, "TAKES_REST", False) and "--" in words:
            end = words.index("--")
            words, rest = words[:end], words[end + 1 :]
    args = parser.parse_args(words, argparse.Namespace(rest=rest))
    try:
        return int(args.run(args))
    except KernelError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away (`... | head`): nothing more to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:  # noqa: BLE001 - the one place where everything ends
        traceback.print_exc()
        print(f"{prog}: internal error: {error!r}; this is a bug in {prog}", file=sys.stderr)
        return KernelError.exit_code
