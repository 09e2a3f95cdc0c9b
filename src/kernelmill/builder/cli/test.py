"""``kernel-builder test``: run a kernel's own tests against its built variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_folder, add_json

if TYPE_CHECKING:
    import argparse

HELP = "run a kernel's own tests against what was built, on a CPU, a GPU or an emulated GPU"
TAKES_REST = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "%(prog)s [DIR] [options] [-- PYTEST_ARGS...]"
    add_folder(parser)
    parser.add_argument(
        "--backend",
        action="append",
        metavar="NAME",
        help="cpu, rocm or cpu,rocm; by default all that is built and can run here",
    )
    parser.add_argument(
        "--variant",
        action="append",
        metavar="NAME",
        help="one that is built; by default of each backend the one that would be loaded here",
    )
    parser.add_argument(
        "--emulate", action="store_true", help="run ROCm kernels without a GPU, on the CPU"
    )
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="with --emulate: look for races, wild accesses and uninitialised reads as well",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="with --emulate: print what each kernel did as kernel-emulator run --profile does",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Test, and print a table; status 1 unless every variant passed."""
    from kernelmill.builder.cli import testing  # noqa: PLC0415 - half a second, not for `--help`

    return testing.run(args)
