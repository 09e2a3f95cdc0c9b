from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.conftest import require_program

from kernelmill.builder.shell_environment import (
    Surroundings,
    environment,
    plan_start,
    read_definitions,
    toolchain_file,
)

if TYPE_CHECKING:
    from pathlib import Path

AROUND = Surroundings(
    title="relu torch-cpu",
    variables={"CXX": "/usr/bin/g++"},
    path=("/tools", "/venv/bin"),
    python_path=("/kernel/python",),
    local_kernels={"acme/relu": "/kernel"},
)


def test_folders_come_first_and_once() -> None:
    env = environment(AROUND, {"PATH": "/usr/bin:/venv/bin", "PYTHONPATH": "/mine", "CXX": "cc"})
    assert env["PATH"] == "/tools:/venv/bin:/usr/bin"
    assert env["PYTHONPATH"] == "/kernel/python:/mine"
    assert env["CXX"] == "/usr/bin/g++"
    assert env["LOCAL_KERNELS"] == "acme/relu=/kernel"
    assert env["KERNELMILL_SHELL"] == "relu torch-cpu"


def test_an_empty_list_stays_without_the_current_folder() -> None:
    """An empty word in PYTHONPATH or PATH is the current folder: nobody asked for that."""
    env = environment(AROUND, {"PATH": "", "PYTHONPATH": ""})
    assert env["PYTHONPATH"] == "/kernel/python"
    assert env["PATH"] == "/tools:/venv/bin"


def test_other_local_kernels_stay() -> None:
    env = environment(AROUND, {"LOCAL_KERNELS": "acme/relu=/old:acme/gemm=/gemm"})
    assert env["LOCAL_KERNELS"] == "acme/relu=/kernel:acme/gemm=/gemm"
    plain = environment(Surroundings(title="x"), {"LOCAL_KERNELS": "a/b=/c"})
    assert plain["LOCAL_KERNELS"] == "a/b=/c"
    assert "LOCAL_KERNELS" not in environment(Surroundings(title="x"), {})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_prompt_shows_the_variant_and_the_users_files_are_read(
    shell: str, tmp_path: Path
) -> None:
    program = require_program(shell, package=shell)
    home, folder = tmp_path / "home", tmp_path / "start"
    for it in (home / ".config/fish", folder):
        it.mkdir(parents=True)
    (home / ".bashrc").write_text("PS1='mine$ '; export FROM_USER=1 PATH=/user:$PATH\n")
    (home / ".zshrc").write_text("PROMPT='mine% '; export FROM_USER=1 PATH=/user:$PATH\n")
    (home / ".config/fish/config.fish").write_text(
        "set -gx FROM_USER 1; set -gx PATH /user $PATH\n"
        "function fish_prompt; echo -n 'mine> '; end\n"
    )
    env = {"HOME": str(home), "PATH": "/tools:/usr/bin:/bin", "TERM": "dumb"}
    start = plan_start(program, title="it's relu", env=env, folder=str(folder))
    for name, text in start.files.items():
        (folder / name).write_text(text)
    shown = {"bash": 'echo "<$PS1>"', "zsh": 'echo "<$PROMPT>"', "fish": "echo '<'(fish_prompt)'>'"}
    asked = f"{shown[shell]}; echo $FROM_USER; echo $PATH\nexit 9\n"
    done = subprocess.run(
        start.command,
        input=asked,
        env=env | dict(start.variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 9, done.stderr
    prompt, from_user, path = done.stdout.split("\n")[-4:-1]
    assert prompt.startswith("<(it's relu) mine")
    assert from_user == "1"
    assert path.replace(" ", ":").startswith("/tools:")


def test_an_unknown_shell_gets_a_prompt_of_its_own() -> None:
    start = plan_start("/bin/dash", title="relu", env={}, folder="/nowhere")
    assert start.command == ("/bin/dash", "-i")
    assert start.variables == {"PS1": "(relu) $ "}


def test_definitions_become_a_file_that_cmake_reads() -> None:
    command = ["cmake", "-S", "x", "-DKERNEL_BACKEND=rocm", "-DFLAGS=-O2 -DX=1;y"]
    definitions = read_definitions(command)
    assert definitions == {"KERNEL_BACKEND": "rocm", "FLAGS": "-O2 -DX=1;y"}
    assert toolchain_file(definitions).splitlines()[1:] == [
        'set(KERNEL_BACKEND [==[rocm]==] CACHE STRING "")',
        'set(FLAGS [==[-O2 -DX=1;y]==] CACHE STRING "")',
    ]
