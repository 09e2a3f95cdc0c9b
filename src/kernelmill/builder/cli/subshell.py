"""Start the shells of ``devshell`` and ``testshell``, or one command in their place."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import note
from kernelmill.builder.errors import ToolchainError
from kernelmill.builder.package import OUTPUT_FOLDER
from kernelmill.builder.shell_environment import environment, plan_start
from kernelmill.builder.workplace import WORK_FOLDER, clear, make_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.shell_environment import Surroundings


def run_in(around: Surroundings, command: Sequence[str], *, prefix: Sequence[str] = ()) -> int:
    """Run ``command``, or a shell when there is none, and return its exit status.

    Args:
        around: the environment.
        command: a program and its arguments.
        prefix: what is put in front of either.

    Raises:
        ToolchainError: there is no such program.
    """
    env = environment(around, os.environ)
    if command:
        return _call([*prefix, *command], env)
    shell = os.environ.get("SHELL") or "/bin/sh"
    note(f"in a shell for {around.title}; leave it with exit")
    with TemporaryDirectory(prefix="kernel-builder-shell-") as folder:
        start = plan_start(shell, title=around.title, env=env, folder=folder)
        for name, text in start.files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        return _call([*prefix, *start.command], env | dict(start.variables))


def _call(command: Sequence[str], env: dict[str, str]) -> int:
    program = shutil.which(command[0], path=env.get("PATH"))
    if program is None:
        raise ToolchainError(
            f"there is no program {command[0]!r}", hint="name one that PATH leads to"
        )
    try:
        status = subprocess.call([program, *command[1:]], env=env)
    except OSError as error:
        raise ToolchainError(
            f"{program} cannot be started: {error.strerror}", hint="name another program"
        ) from error
    return 128 - status if status < 0 else status


def link_package(root: Path, variant: str, python_name: str) -> Path:
    """Return a folder for Python's path in which ``import NAME`` finds a variant in ``build/``.

    It is a link: what is built later is what is imported then.
    """
    target = root / OUTPUT_FOLDER / variant
    link = root / WORK_FOLDER / "shells" / variant / python_name
    make_folder(link.parent)
    if not (link.is_symlink() and link.readlink() == target):
        clear(link)
        link.symlink_to(target, target_is_directory=True)
    return link.parent


def copy_variant(variant: Path, place: Path, python_name: str) -> tuple[Path, Path]:
    """Make a repository in ``place`` that holds one variant alone.

    Returns:
        The repository, from which ``get_kernel`` loads that variant; and a folder for Python's
        path in which ``import NAME`` finds it.
    """
    copy = place / "kernel" / OUTPUT_FOLDER / variant.name
    shutil.copytree(variant, copy)
    (place / "python").mkdir()
    (place / "python" / python_name).symlink_to(copy, target_is_directory=True)
    return place / "kernel", place / "python"
