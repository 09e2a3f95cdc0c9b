"""``kernel-builder devshell``: a shell in which a kernel is built by hand."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_backend, add_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.shell_environment import Surroundings
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain

HELP = "start a shell, or a command, with the tools of one variant"
TAKES_REST = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "%(prog)s [DIR] [options] [-- COMMAND...]"
    add_folder(parser)
    add_backend(parser)
    parser.add_argument("--variant", metavar="NAME", help="by default the first for this torch")


def run(args: argparse.Namespace) -> int:
    """Start it; the exit status is the shell's, or the command's."""
    from kernelmill.builder.cli.subshell import run_in  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.sources import read_tree  # noqa: PLC0415 - as above

    tree = read_tree(args.dir.resolve())
    around = _python_only(args, tree) if tree.is_python_only else _compiled(args, tree)
    return run_in(around, args.rest)


def _python_only(args: argparse.Namespace, tree: KernelTree) -> Surroundings:
    from kernelmill.builder.noarch.plan import choose_noarch  # noqa: PLC0415 - only these kernels

    variants = [args.variant] if args.variant else []
    chosen = choose_noarch(tree, backends=args.backend or (), variants=variants)
    return _surroundings(tree, str(chosen[0]), {}, path=[])


def _compiled(args: argparse.Namespace, tree: KernelTree) -> Surroundings:
    from kernelmill.builder import request  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.job import read_site  # noqa: PLC0415 - as above
    from kernelmill.builder.toolchain import require  # noqa: PLC0415 - as above

    site = read_site(tree, os.environ, python=sys.executable)
    wanted = request.parse_request(
        tree.manifest,
        backends=args.backend,
        variants=[args.variant] if args.variant else None,
    )
    plan = site.plan(wanted.goals[0])
    tools = [require(site.toolchain.cmake), require(site.toolchain.ninja)]
    path = [str(Path(it.path).parent) for it in tools if Path(it.path).is_absolute()]
    variables = _variables(plan, site.toolchain, tree.root)
    return _surroundings(tree, str(plan.variant), variables, path=path)


def _variables(plan: BuildPlan, toolchain: Toolchain, root: Path) -> Mapping[str, str]:
    """Return what makes CMake build one variant; writes the file that says so."""
    from kernelmill.builder import shell_environment as shells  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.compile import Workspace, configure_command  # noqa: PLC0415 - as above
    from kernelmill.builder.pipeline import build_environment  # noqa: PLC0415 - as above
    from kernelmill.builder.toolchain import require  # noqa: PLC0415 - as above
    from kernelmill.builder.workplace import WORK_FOLDER, make_folder  # noqa: PLC0415 - as above
    from kernelmill.builder.writing import replace_text  # noqa: PLC0415 - as above

    workspace = Workspace(root=root, folder=root / WORK_FOLDER / str(plan.variant))
    make_folder(workspace.folder)
    command = configure_command(plan, toolchain, workspace)
    definitions = shells.read_definitions(command)
    place = workspace.folder / "devshell.cmake"
    replace_text(place, shells.toolchain_file(definitions))
    fixed = build_environment({}, root=root)
    return {
        # Not the language of the messages: a shell is for people.
        **{name: value for name, value in fixed.items() if name not in {"LC_ALL", "TZ"}},
        shells.TOOLCHAIN_FILE: str(place),
        "CMAKE_GENERATOR": "Ninja",
        "CXX": require(toolchain.cxx).path,
    }


def _surroundings(
    tree: KernelTree, variant: str, variables: Mapping[str, str], *, path: list[str]
) -> Surroundings:
    from kernelmill.builder import shell_environment as shells  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.cli.subshell import link_package  # noqa: PLC0415 - as above

    general = tree.manifest.general
    package = link_package(tree.root, variant, general.name.python_name)
    known = general.hub and general.hub.repo_id
    return shells.Surroundings(
        title=f"{general.name} {variant}",
        variables={**variables, shells.VARIANT: variant},
        path=(str(Path(sys.executable).parent), *path),
        python_path=(str(package),),
        local_kernels={str(known): str(tree.root)} if known else {},
    )
