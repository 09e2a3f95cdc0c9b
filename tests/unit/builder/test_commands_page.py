"""docs/commands.md has every command, and its examples are what the commands take."""

from __future__ import annotations

import argparse
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from kernelmill.builder.card import VARIABLES
from kernelmill.builder.cli import COMMANDS, PROG, main

PAGE = (Path(__file__).parents[3] / "docs/commands.md").read_text(encoding="utf-8")
ROWS = re.findall(r"(?m)^\| `([a-z-]+)` \| (.+?) \| `(kernel-builder .+?)` \|$", PAGE)


def test_the_page_has_every_command_in_the_order_of_the_help() -> None:
    assert [name for name, *_ in ROWS] == list(COMMANDS)


@pytest.mark.parametrize(("name", "example"), [(name, text) for name, _, text in ROWS])
def test_the_example_of_a_command_is_one_that_it_takes(name: str, example: str) -> None:
    program, command, *words = shlex.split(example)
    assert (program, command) == (PROG, name)
    module = import_module(COMMANDS[name])
    if getattr(module, "TAKES_REST", False) and "--" in words:
        words = words[: words.index("--")]
    parser = argparse.ArgumentParser(prog=f"{program} {command}", allow_abbrev=False)
    module.configure(parser)
    parser.parse_args(words)


def test_options_in_the_text_are_those_of_some_command() -> None:
    known = {"--help"}
    for path in COMMANDS.values():
        parser = argparse.ArgumentParser(allow_abbrev=False)
        import_module(path).configure(parser)
        known |= {option for action in parser._actions for option in action.option_strings}
    text = re.sub(r"(?s)```.*?```|`cmake .*?`", "", PAGE)
    named = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", text))
    assert not named - known


def test_variables_of_cards_are_those_of_the_page() -> None:
    table = PAGE.split("| variable | stands for |")[1].split("\n\n")[0]
    named = [
        name
        for row in table.splitlines()[2:]
        for name in re.findall(r"`([a-z_]+)`", row.split(" | ")[0])
    ]
    assert named == list(VARIABLES)


def test_the_reference_has_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate-docs"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# kernel-builder\n\n## kernel-builder init\n")
    for name in COMMANDS:
        assert f"\n## kernel-builder {name}\n" in printed
    assert "### kernel-builder sdk fetch\n" in printed
    assert "| `--repo-id` `OWNER/NAME` | by default that of build.toml |" in printed
    rows = re.findall(r"(?m)^\| (?!argument|---).*$", printed)
    assert all(row.count(" | ") == 1 for row in rows)


def test_skills_are_refused_with_what_to_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skills", "add"]) == 2
    said = capsys.readouterr().err
    assert "skills add: there are no skills to add" in said
    assert "docs/guide.md" in said
