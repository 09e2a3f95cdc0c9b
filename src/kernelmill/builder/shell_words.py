"""What may be typed after a program's name, read from the parsers of its commands."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BACKENDS: Final = tuple(map(str, Backend))
_KNOWN: Final = {"--backend": _BACKENDS, "--backends": _BACKENDS}
"""Values of options whose parsers know more than a shell can say: ``cpu,rocm`` is one word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """An option, or the place of an argument."""

    names: tuple[str, ...]
    """``--json``, ``-q``; none for an argument that is known by its place."""
    help: str
    value: str
    """What stands for its value in a usage line; empty for a switch."""
    choices: tuple[str, ...] = ()
    """The values that it takes, where there are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWords:
    """A command, and what it takes."""

    name: str
    help: str
    usage: str
    words: tuple[Word, ...]
    actions: tuple[CommandWords, ...] = ()
    """Commands of this command."""

    @property
    def options(self) -> tuple[Word, ...]:
        """The words that begin with a dash."""
        return tuple(word for word in self.words if word.names)

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words that are known by their places."""
        return tuple(word for word in self.words if not word.names)


def read_commands(prog: str, commands: Mapping[str, str]) -> tuple[CommandWords, ...]:
    """Return the commands of a program. Imports the module of every one.

    Args:
        prog: the program's name.
        commands: command name -> module path, as for ``run_console``.
    """
    found = []
    for name, module_path in commands.items():
        module = import_module(module_path)
        parser = argparse.ArgumentParser(prog=f"{prog} {name}", allow_abbrev=False)
        module.configure(parser)
        found.append(_read_parser(name, str(module.HELP), parser))
    return tuple(found)


def _read_parser(name: str, text: str, parser: argparse.ArgumentParser) -> CommandWords:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    return CommandWords(
        name=name,
        help=text,
        usage=usage,
        words=tuple(_read_words(parser)),
        actions=tuple(_read_actions(parser)),
    )


def _read_words(parser: argparse.ArgumentParser) -> Iterator[Word]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        names = tuple(action.option_strings)
        known = next((_KNOWN[it] for it in names if it in _KNOWN), ())
        yield Word(
            names=names,
            help=str(action.help or ""),
            value="" if action.nargs == 0 else _metavar(action),
            choices=tuple(map(str, action.choices or ())) or known,
        )


def _metavar(action: argparse.Action) -> str:
    shown = action.metavar or action.dest.upper().replace("_", "-")
    return " ".join(shown) if isinstance(shown, tuple) else shown


def _read_actions(parser: argparse.ArgumentParser) -> Iterator[CommandWords]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {it.dest: str(it.help or "") for it in action._choices_actions}
            choices: Mapping[str, Any] = action.choices
            for name, child in choices.items():
                yield _read_parser(name, helps.get(name, ""), child)
