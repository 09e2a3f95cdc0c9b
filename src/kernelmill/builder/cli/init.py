"""``kernel-builder init``: start a kernel repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import note

if TYPE_CHECKING:
    import argparse

    from kernelmill.spec.backend import Backend

HELP = "write a small working kernel to start from"
_PYTHON_ONLY = "torch-noarch"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path", nargs="?", type=Path, help="the new folder; by default the kernel's name"
    )
    parser.add_argument("--name", required=True, metavar="[OWNER/]NAME", help="the kernel's name")
    parser.add_argument(
        "--license", default="Apache-2.0", metavar="SPDX", help="by default Apache-2.0"
    )
    parser.add_argument(
        "--backends",
        "--backend",
        nargs="+",
        default=["cpu"],
        metavar="NAME",
        help="cpu, rocm, cuda, xpu, metal: one after the other or with commas; by default cpu",
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

    words = [it.strip() for word in args.backends for it in word.split(",")]
    backends = tuple(dict.fromkeys(Backend.parse(it, where="--backends") for it in words))
    target = _write(args, backends)
    _start_git(target)
    if args.framework == _PYTHON_ONLY or set(backends) & set(BACKENDS):
        note(f"next: kernel-builder build {target}")
    else:
        note(f"next, where the tools are: kernel-builder create-pyproject {target}")
    print(target)
    return 0


def _write(args: argparse.Namespace, backends: tuple[Backend, ...]) -> Path:
    """Write the files, and return their folder."""
    from kernelmill.builder.scaffold import check_backends, scaffold  # noqa: PLC0415 - as above
    from kernelmill.spec.licenses import license_objection  # noqa: PLC0415 - as above
    from kernelmill.spec.names import KernelName, RepoId  # noqa: PLC0415 - as above

    repo_id = RepoId.parse(args.name, where="--name") if "/" in args.name else None
    name = KernelName.parse(repo_id.name if repo_id else args.name, where="--name")
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
