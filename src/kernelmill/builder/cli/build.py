"""``kernel-builder build``: build a kernel, one variant or a whole matrix of them."""

from __future__ import annotations

from argparse import ArgumentTypeError, BooleanOptionalAction
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_backend, add_folder, add_json
from kernelmill.builder.runners.choice import IN_ORDER, PROCESSES, parse_executor

if TYPE_CHECKING:
    import argparse

HELP = "build a kernel into build/<variant>/, against the installed torch or the headers of others"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add_backend(parser)
    parser.add_argument(
        "--variant", action="append", metavar="NAME", help="a variant to build; may be repeated"
    )
    parser.add_argument("--rocm", metavar="M.m", help="the ROCm to link for")
    parser.add_argument(
        "--all", action="store_true", help="build every variant that `list-variants` prints"
    )
    parser.add_argument(
        "--torch",
        action="append",
        metavar="M.m",
        help="with --all: for these PyTorch versions only",
    )
    parser.add_argument(
        "--available", action="store_true", help="with --all: leave out what cannot be built here"
    )
    parser.add_argument(
        "--manylinux",
        action=BooleanOptionalAction,
        help="link for manylinux_2_28, with the SDK abi-stubs; by default if it is here",
    )
    _add_release(parser)
    parser.add_argument(
        "--executor",
        type=parse_executor,
        metavar="WHERE",
        help=f"{PROCESSES} of this machine, several variants at once (the default for several); "
        f"{IN_ORDER}, one after another; or dask://HOST:PORT, a cluster of Dask's",
    )
    parser.add_argument(
        "--jobs",
        type=_positive,
        metavar="N",
        help="how many compilers may run at once on a machine; by default MAX_JOBS, else as many "
        "as there are cores and memory for",
    )
    add_json(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print what the tools print")


def _add_release(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a release build."""
    parser.add_argument(
        "--release",
        action="store_true",
        help="build what build.lock names in a sandbox, reproducibly; by default all of it",
    )
    parser.add_argument(
        "--allow-unsandboxed",
        action="store_true",
        help="with --release: where no sandbox is possible, build without one, and record that",
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="with --release: build also what the caches of KERNELMILL_CACHES have",
    )
    parser.add_argument(
        "--record-hashes",
        action="store_true",
        help="with --release: write build.sha256, which `reproduce --expected` compares with",
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Build, and print the folders of the variants; the status is honest when some were not."""
    from kernelmill.builder.cli import building  # noqa: PLC0415 - half a second, not for `--help`

    return building.run(args)
