"""``kernel-builder init``: start a kernel repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kernelmill.spec.backend import Backend

HELP = "write a small working kernel to start from"
_PYTHON_ONLY = "torch-noarch"
_PYTHON_ONLY_BACKENDS = ("cpu", "cuda", "rocm")
_NOT_BACKENDS = ("noarch", _PYTHON_ONLY, "universal", "triton")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path", nargs="?", type=Path, help="the new folder; by default the kernel's name"
    )
    parser.add_argument(
        "--name", metavar="[OWNER/]NAME", help="the kernel's name; by default the folder's"
    )
    parser.add_argument(
        "--license", default="Apache-2.0", metavar="SPDX", help="by default Apache-2.0"
    )
    parser.add_argument(
        "--backends",
        "--backend",
        nargs="+",
        metavar="NAME",
        help="cpu, rocm, cuda, xpu, metal: one after the other or with commas; by default cpu, "
        "and cpu,cuda,rocm for Python only, which may be for every backend",
    )
    parser.add_argument(
        "--framework",
        choices=("torch", _PYTHON_ONLY),
        default="torch",
        help="compiled, or Python only",
    )
    parser.add_argument(
        "-f", "--force", "--overwrite", action="store_true", help="replace existing files"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and say what to do next."""
    from kernelmill.builder.backends import BACKENDS  # noqa: PLC0415 - `--help` needs none of it
    from kernelmill.spec.backend import Backend  # noqa: PLC0415 - as above

    is_python_only = args.framework == _PYTHON_ONLY
    usual = _PYTHON_ONLY_BACKENDS if is_python_only else ("cpu",)
    words = [it.strip() for word in args.backends or usual for it in word.split(",")]
    _refuse_frameworks(words)
    backends = tuple(dict.fromkeys(Backend.parse(it, where="--backends") for it in words))
    target = _write(args, backends)
    _start_git(target)
    if is_python_only or set(backends) & set(BACKENDS):
        note(f"next: kernel-builder build {target}")
    else:
        note(f"next, where the tools are: kernel-builder create-pyproject {target}")
    print(target)
    return 0


def _refuse_frameworks(words: Sequence[str]) -> None:
    """Stop here when a backend is named like Python that runs on any.

    Raises:
        PlanError: one is.
    """
    from kernelmill.builder.errors import PlanError  # noqa: PLC0415 - as in `run`

    for word in words:
        if word in _NOT_BACKENDS:
            raise PlanError(
                f"{word!r} is no backend",
                where="--backends",
                hint=f"write --framework {_PYTHON_ONLY} for a kernel of Python only",
            )


def _name_of(args: argparse.Namespace) -> tuple[str, str]:
    """Return the name that was given, else the folder's, and where it comes from.

    Raises:
        PlanError: there is neither.
    """
    from kernelmill.builder.errors import PlanError  # noqa: PLC0415 - as in `run`

    if args.name:
        return args.name, "--name"
    if args.path is None:
        raise PlanError(
            "the new kernel needs a name", hint="kernel-builder init my-relu --name OWNER/my-relu"
        )
    return args.path.resolve().name, "the folder's name, as there is no --name"


def _write(args: argparse.Namespace, backends: tuple[Backend, ...]) -> Path:
    """Write the files, and return their folder."""
    from kernelmill.builder.scaffold import check_backends, scaffold  # noqa: PLC0415 - as above
    from kernelmill.spec.licenses import license_objection  # noqa: PLC0415 - as above
    from kernelmill.spec.names import KernelName, RepoId  # noqa: PLC0415 - as above

    text, where = _name_of(args)
    repo_id = RepoId.parse(text, where=where) if "/" in text else None
    name = KernelName.parse(repo_id.name if repo_id else text, where=where)
    is_python_only = args.framework == _PYTHON_ONLY
    check_backends(backends, is_python_only=is_python_only)
    if objection := license_objection(args.license):
        note(f"warning: {objection}")
    files = scaffold(
        name,
        repo_id=repo_id,
        license_id=args.license,
        backends=backends,
        is_python_only=is_python_only,
    )
    target: Path = args.path or Path(str(name))
    files.write(target, force=args.force)
    return target


def _start_git(target: Path) -> None:
    """Make ``target`` a git repository, unless it is in one."""
    if shutil.which("git") is None:
        note("git is not installed: this is no git repository yet")
        return
    git = ["git", "-C", str(target)]
    inside = subprocess.run([*git, "rev-parse", "--git-dir"], capture_output=True, check=False)
    if inside.returncode:
        subprocess.run([*git, "init", "--quiet"], check=False)
