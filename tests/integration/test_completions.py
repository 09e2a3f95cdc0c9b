"""Completion scripts, in the shells that they are for."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

import pytest
from tests.conftest import require_program

from kernelmill.builder.cli import COMMANDS, PROG, main
from kernelmill.builder.shell_completion import SHELLS
from kernelmill.builder.shell_words import read_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CASES = [
    pytest.param("", "build-and-upload", "--json", id="commands"),
    pytest.param("build-and-u", "build-and-upload", "build", id="one-command"),
    pytest.param("check-config --", "--strict", "--sanitize", id="options"),
    pytest.param("test --sani", "--sanitize", "--strict", id="one-option"),
    pytest.param("build --backend ro", "rocm", "cuda", id="values"),
    pytest.param("sdk ", "verify", "--strict", id="actions"),
    pytest.param("sdk fetch --f", "--from", "--strict", id="options-of-an-action"),
    pytest.param("completions --h", "--help", "--json", id="help"),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """One script for each shell, as the command prints it."""
    folder = tmp_path_factory.mktemp("scripts")
    for shell in SHELLS:
        with (folder / shell).open("w") as file, redirect_stdout(file):
            assert main(["completions", shell]) == 0
    return {shell: folder / shell for shell in SHELLS}


@pytest.mark.parametrize(("line", "offered", "other"), CASES)
def test_bash_completes(scripts: Mapping[str, Path], line: str, offered: str, other: str) -> None:
    bash = require_program("bash", package="bash")
    words = [PROG, *line.split(" ")]
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {scripts['bash']}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
        '_kernel_builder; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = [bash, "--norc", "-euc", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert offered in done.stdout.split()
    assert other not in done.stdout.split()


def test_bash_completes_the_last_of_several_values(scripts: Mapping[str, Path]) -> None:
    bash = require_program("bash", package="bash")
    script = (
        f"source {scripts['bash']}; COMP_WORDS=({PROG} build --backend cpu,ro); COMP_CWORD=3; "
        '_kernel_builder; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = [bash, "--norc", "-euc", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "cpu,rocm\n"


def test_bash_leaves_files_to_itself(scripts: Mapping[str, Path]) -> None:
    bash = require_program("bash", package="bash")
    for words in ("build ex", "sdk fetch --from ex", "test -- ex"):
        script = (
            f"source {scripts['bash']}; COMP_WORDS=({PROG} {words}); "
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _kernel_builder; echo ${#COMPREPLY[@]}"
        )
        done = subprocess.run(
            [bash, "--norc", "-c", script], capture_output=True, text=True, check=True
        )
        assert done.stdout == "0\n", words


@pytest.mark.parametrize(("line", "offered", "other"), CASES)
def test_fish_completes(scripts: Mapping[str, Path], line: str, offered: str, other: str) -> None:
    fish = require_program("fish", package="fish")
    command = [fish, "--no-config", "-c", f"source {scripts['fish']}; complete -C '{PROG} {line}'"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    words = [it.partition("\t")[0] for it in done.stdout.splitlines()]
    assert offered in words
    assert other not in words


def test_zsh_completes(scripts: Mapping[str, Path], tmp_path: Path) -> None:
    """Typed into a terminal, one line after the other: zsh completes nowhere else."""
    zsh = require_program("zsh", package="zsh")
    setup = (
        f"PROMPT='>'; autoload -U compinit; compinit -u -d {tmp_path}/dump; LISTMAX=999; "
        f"unsetopt zle_bracketed_paste; source {scripts['zsh']}; echo is''ready\n"
    )
    with terminal_of(zsh) as terminal:
        os.write(terminal, setup.encode())
        read_until_quiet(terminal, wanted="isready")
        for case in CASES:
            line, offered, other = map(str, case.values)
            os.write(terminal, f"{PROG} {line}\t".encode())
            screen = read_until_quiet(terminal, wanted=offered).replace(",", " ").split()
            os.write(terminal, b"\x15")  # forget the line
            assert offered in screen, line
            assert other not in screen, line


@contextmanager
def terminal_of(zsh: str) -> Iterator[int]:
    """Run zsh in a terminal."""
    terminal, inside = pty.openpty()
    env = {"PATH": os.environ["PATH"], "TERM": "dumb"}
    with subprocess.Popen(
        [zsh, "-f", "-i"],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env=env,
        start_new_session=True,
    ) as process:
        os.close(inside)
        yield terminal
        process.kill()
    os.close(terminal)


def read_until_quiet(terminal: int, *, wanted: str = "") -> str:
    """Read until something was said, and nothing more comes."""
    screen, deadline = "", time.monotonic() + 20
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.3)[0]:
            screen += os.read(terminal, 65536).decode(errors="replace")
        elif screen and wanted in screen:
            break
    return screen


def test_every_command_is_known_to_the_scripts() -> None:
    assert [it.name for it in read_commands(PROG, COMMANDS)] == list(COMMANDS)
