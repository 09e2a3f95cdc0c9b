"""``kernel-builder create-pyproject``: write the CMake and Python project of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.identity import add_identity, read_identity
from kernelmill.builder.cli.options import add_backend, add_folder, note
from kernelmill.builder.errors import FilesExist

if TYPE_CHECKING:
    import argparse

    from kernelmill.builder.fileset import FileSet

HELP = "write a CMake and Python project that builds the kernel without kernel-builder"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument(
        "target", nargs="?", type=Path, metavar="TARGET", help="where to write; DIR by default"
    )
    add_backend(parser)
    add_identity(parser)
    parser.add_argument("-f", "--force", action="store_true", help="replace existing files")


def run(args: argparse.Namespace) -> int:
    """Write the files, and print those that are new or changed."""
    from kernelmill.builder.cli.project import plan_project  # noqa: PLC0415 - heavy

    target = (args.target or args.dir).resolve()
    identity = read_identity(args)
    files = plan_project(args.dir.resolve(), target, backends=args.backend, identity=identity)
    if not args.force:
        _refuse_to_overwrite(files, target)
    written = files.write(target, force=True)
    print("\n".join(written) or "nothing changed")
    for text in _next_steps(files):
        note(text)
    return 0


def _refuse_to_overwrite(files: FileSet, target: Path) -> None:
    clashes = [path for path in files.existing(target) if (target / path).exists()]
    if clashes:
        raise FilesExist(
            f"File(s) already exists in target directory: {', '.join(clashes)}\n"
            "Use `--force` to overwrite.",
            where=str(target),
        )


def _next_steps(files: FileSet) -> tuple[str, ...]:
    if "CMakeLists.txt" not in files.texts:
        return ("next: python setup.py build_kernel",)
    return (
        "next: cmake -B build -G Ninja && cmake --build build --target local_install",
        "for an IDE: build/compile_commands.json is there after the first of these",
    )
