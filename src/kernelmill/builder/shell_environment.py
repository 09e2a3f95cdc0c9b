"""Shells in which a kernel is developed or tried: their variables, and how each one is started."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIANT: Final = "KERNELMILL_VARIANT"
"""The variant that a shell is for."""
TOOLCHAIN_FILE: Final = "CMAKE_TOOLCHAIN_FILE"
_TITLE: Final = "KERNELMILL_SHELL"
_LISTS: Final = ("PATH", "PYTHONPATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a shell adds to the environment of the one that it is started from."""

    title: str
    """For the prompt: the kernel and the variant."""
    variables: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    """Folders of programs, which come before all others."""
    python_path: tuple[str, ...] = ()
    """Folders of Python packages, which come before all others."""
    local_kernels: Mapping[str, str] = field(default_factory=dict)
    """Repository -> folder: what ``get_kernel`` loads in its place."""


def environment(around: Surroundings, env: Mapping[str, str]) -> dict[str, str]:
    """Return ``env`` with what ``around`` adds."""
    added = {"PATH": around.path, "PYTHONPATH": around.python_path}
    lists = {
        name: os.pathsep.join(dict.fromkeys((*words, *env.get(name, "").split(os.pathsep))))
        for name, words in added.items()
        if words
    }
    kernels = [f"{repo}={folder}" for repo, folder in around.local_kernels.items()]
    if others := env.get("LOCAL_KERNELS"):
        kernels += [it for it in others.split(":") if it.split("=")[0] not in around.local_kernels]
    local = {"LOCAL_KERNELS": ":".join(kernels)} if kernels else {}
    named = {name: text.rstrip(os.pathsep) for name, text in lists.items()}
    return {**env, **around.variables, **local, **named, _TITLE: around.title}


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a shell is started."""

    command: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    """Name -> text of files that it reads, in a folder of its own."""
    variables: Mapping[str, str] = field(default_factory=dict)


def plan_start(shell: str, *, title: str, env: Mapping[str, str], folder: str) -> Start:
    """Return how to start ``shell`` so that its prompt shows ``title``.

    The user's own start files are read first; what they do to the lists of folders is undone,
    for they put their own tools in front.

    Args:
        shell: path of the program.
        title: what to show.
        env: the shell's environment.
        folder: where ``files`` will be.
    """
    exports = "".join(f"export {name}={_quote(env[name])}\n" for name in _LISTS if name in env)
    match PurePath(shell).name:
        case "bash":
            text = f'[ -f ~/.bashrc ] && . ~/.bashrc\n{exports}PS1={_quote(f"({title}) ")}"$PS1"\n'
            return Start(
                command=(shell, "--rcfile", f"{folder}/bashrc", "-i"), files={"bashrc": text}
            )
        case "zsh":
            home = env.get("ZDOTDIR") or env.get("HOME", "")
            text = (
                f"export ZDOTDIR={_quote(home)}\n"
                '[ -f "$ZDOTDIR/.zshrc" ] && . "$ZDOTDIR/.zshrc"\n'
                f'{exports}PROMPT={_quote(f"({title}) ")}"$PROMPT"\n'
            )
            return Start(
                command=(shell, "-i"), files={".zshrc": text}, variables={"ZDOTDIR": folder}
            )
        case "fish":
            said = f"echo -n {_quote_for_fish(f'({title}) ')}; _kernel_builder_prompt"
            lists = "".join(
                f"set -gx {name} {' '.join(map(_quote_for_fish, env[name].split(os.pathsep)))}\n"
                for name in _LISTS
                if name in env
            )
            text = (
                f"{lists}functions --copy fish_prompt _kernel_builder_prompt\n"
                f"function fish_prompt; {said}; end\n"
            )
            return Start(command=(shell, "--init-command", text, "-i"))
        case _:
            return Start(command=(shell, "-i"), variables={"PS1": f"({title}) $ "})


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _quote_for_fish(text: str) -> str:
    """Quote for fish, to which a backslash is special within quotes, too."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def toolchain_file(definitions: Mapping[str, str]) -> str:
    """Return the CMake file that makes a plain ``cmake -B build`` build one variant.

    What is said on CMake's command line wins.
    """
    lines = [
        f'set({name} {_bracket(value)} CACHE STRING "")' for name, value in definitions.items()
    ]
    return "\n".join(("# Written by kernel-builder devshell.", *lines, ""))


def _bracket(text: str) -> str:
    """Return ``text`` as one argument of CMake in which nothing is special."""
    return f"[==[{text}]==]"


def read_definitions(command: Sequence[str]) -> dict[str, str]:
    """Return the ``-DNAME=VALUE`` of a command that runs CMake."""
    words = (word[2:].partition("=") for word in command if word.startswith("-D"))
    return {name: value for name, _, value in words}
