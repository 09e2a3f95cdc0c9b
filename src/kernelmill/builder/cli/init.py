"""``kernel-builder init``: start a kernel repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import note
from kernelmill.builder.request import parse_backends
from kernelmill.builder.scaffold import scaffold
from kernelmill.spec.names import KernelName, RepoId

if TYPE_CHECKING:
    import argparse

HELP = "write a small working kernel to start from"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path", nargs="?", type=Path, help="the new folder; by default the kernel's name"
    )
    parser.add_argument("--name", required=True, metavar="[OWNER/]NAME", help="the kernel's name")
    parser.add_argument("--license", default="Apache-2.0", metavar="SPDX")
    parser.add_argument(
        "--backends", "--backend", default="cpu", metavar="LIST", help="cpu, rocm or cpu,rocm"
    )
    parser.add_argument(
        "-f", "--force", "--overwrite", action="store_true", help="replace existing files"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and say what to do next."""
    repo_id = RepoId.parse(args.name, where="--name") if "/" in args.name else None
    name = KernelName.parse(repo_id.name if repo_id else args.name, where="--name")
    backends = parse_backends([args.backends], where="--backends")
    target = args.path or Path(str(name))
    files = scaffold(name, repo_id=repo_id, license_id=args.license, backends=backends)
    files.write(target, force=args.force)
    note(f"next: kernel-builder build {target}")
    print(target)
    return 0
