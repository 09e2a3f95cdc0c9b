"""``kernel-builder generate-docs``: print the reference of all commands as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kernelmill.builder.shell_words import CommandWords

HELP = "print the reference of all commands and options as Markdown"


def configure(parser: argparse.ArgumentParser) -> None:
    """Take no arguments."""
    parser.set_defaults()


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 - there are none
    """Print one section per command."""
    from kernelmill.builder.cli import COMMANDS, PROG  # noqa: PLC0415 - they import this module
    from kernelmill.builder.shell_words import read_commands  # noqa: PLC0415 - imports all commands

    print(f"# {PROG}")
    for command in read_commands(PROG, COMMANDS):
        print("\n".join(("", *_section(command, f"{PROG} {command.name}", level=2))))
    return 0


def _section(command: CommandWords, name: str, *, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    yield ""
    yield f"{command.help[:1].upper()}{command.help[1:]}."
    yield ""
    yield from ("```", command.usage, "```")
    if command.words:
        yield from ("", "| argument | meaning |", "|---|---|")
    for word in command.words:
        shown = ", ".join(f"`{it}`" for it in word.names) or f"`{word.value}`"
        value = f" `{word.value}`" if word.names and word.value else ""
        choices = f" ({', '.join(word.choices)})" if word.choices else ""
        yield f"| {shown}{value} | {word.help}{choices} |".replace("\n", " ")
    for action in command.actions:
        yield ""
        yield from _section(action, f"{name} {action.name}", level=level + 1)
