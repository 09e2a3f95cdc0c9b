"""The frame of every command line: parse, run one command, print one clear error, exit."""

from __future__ import annotations

import argparse
import ast
import errno
import logging
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from kernelmill import __version__
from kernelmill.spec.errors import HostError, KernelError
from kernelmill.spec.reader import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    class Command(Protocol):
        """What a command's module offers. Heavy imports belong inside ``run``.

        With ``TAKES_REST = True`` the words after ``--`` are not parsed: they are ``args.rest``.
        """

        HELP: str

        def configure(self, parser: argparse.ArgumentParser) -> None:
            """Declare the command's arguments."""

        def run(self, args: argparse.Namespace) -> int:
            """Do the work and return the exit status."""


_HELP_LINES: Final = 6
"""Most lines that a help text may take."""
INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as a shell has it."""
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})


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
    try:
        args = _parse(prog, description, commands, sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:  # the import of a command takes half a second
        return INTERRUPTED
    _allow_every_character()
    if logging.lastResort:
        logging.lastResort.setFormatter(_PrintableFormatter())
    return _finish(prog, args.run, args)


def _parse(
    prog: str, description: str, commands: Mapping[str, str], argv: Sequence[str]
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=prog, description=description, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    words = list(argv)
    rest: list[str] = []
    asked = next((word for word in words if not word.startswith("-")), None)
    is_listing = asked not in commands or words[0] != asked
    if objection := _command_objection(prog, words, tuple(commands)):
        parser.error(objection)
    chosen = parser
    for name, module_path in commands.items():
        if name != asked:
            # Of the others the list of commands needs the help, and everything else their names:
            # importing all takes longer than most work.
            text = read_help(module_path) if is_listing else None
            subparsers.add_parser(name, help=text)
            continue
        command = cast("Command", import_module(module_path))
        chosen = subparser = subparsers.add_parser(
            name, help=command.HELP, description=command.HELP, allow_abbrev=False
        )
        command.configure(subparser)
        subparser.set_defaults(run=command.run)
        if getattr(command, "TAKES_REST", False) and "--" in words:
            end = words.index("--")
            words, rest = words[:end], words[end + 1 :]
    args, unknown = parser.parse_known_args(words, argparse.Namespace(rest=rest))
    if unknown:
        chosen.error(_unknown_text(unknown, chosen))
    return args


def _command_objection(prog: str, words: Sequence[str], known: Sequence[str]) -> str:
    """Say what is wrong with the first word, or nothing."""
    if not words:
        return f"name a command; `{prog} --help` lists all"
    if words[0].startswith("-") or words[0] in known:
        return ""
    near = did_you_mean(words[0], known)
    return f"unknown command {words[0]!r}: {near or f'`{prog} --help` lists all'}"


def _unknown_text(unknown: Sequence[str], parser: argparse.ArgumentParser) -> str:
    """Say which arguments are not known, and the options that were probably meant."""
    options = [it for action in parser._actions for it in action.option_strings]
    asked = (word.partition("=")[0] for word in unknown if word.startswith("--"))
    near = (did_you_mean(word, options) for word in asked)
    return " ".join(("unrecognized arguments:", *unknown, *dict.fromkeys(it for it in near if it)))


def read_help(module_path: str) -> str:
    """Return a command's ``HELP`` as its source says it, without running the module."""
    spec = find_spec(module_path)
    if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
        _, _, rest = Path(spec.origin).read_text(encoding="utf-8").partition("\nHELP = ")
        lines = rest.splitlines()
        # Not the whole module: reading all of thirty takes longer than starting Python.
        for count in range(1, min(len(lines), _HELP_LINES) + 1):
            with suppress(SyntaxError):
                text = ast.literal_eval("\n".join(lines[:count]))
                return text if isinstance(text, str) else str(import_module(module_path).HELP)
    return str(import_module(module_path).HELP)


def _finish(prog: str, run: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Return the exit status of a command, whatever comes of it."""
    try:
        status = int(run(args))
        print(end="", flush=True)  # while a failure can still be told
    except KernelError as error:
        print(printable(f"{prog}: {error}"), file=sys.stderr)
        status = error.exit_code
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`... | head`): nothing more to say, and nobody to say it to.
        _silence()
        status = 141
    except Exception as error:  # noqa: BLE001 - the one place where everything ends
        status = _fail(prog, error)
    return status


def _fail(prog: str, error: Exception) -> int:
    if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
        print(f"{prog}: cannot write the output: {error.strerror}", file=sys.stderr)
        _silence()
        return HostError.exit_code
    traceback.print_exception(error)
    print(f"{prog}: internal error: {error!r}; this is a bug in {prog}", file=sys.stderr)
    return KernelError.exit_code


def printable(text: str) -> str:
    """Return ``text`` without what would move a terminal's cursor or change its colours.

    Names and messages come from Hubs and from files that others wrote.
    """
    return "".join(c if c in "\n\t" or c.isprintable() else ascii(c)[1:-1] for c in text)


class _PrintableFormatter(logging.Formatter):
    """Formats what is logged while no program has configured logging."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _silence() -> None:
    """Send what is still buffered for the standard output nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _allow_every_character() -> None:
    """Show a character that the output's encoding lacks by its number."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
