"""``kernel-builder testshell``: a shell in which one built variant is what programs load."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kernelmill.builder.shell_environment import Surroundings
    from kernelmill.spec.manifest import Manifest

HELP = "start a shell, or a command, that loads one built variant"
TAKES_REST = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "%(prog)s [DIR] [options] [-- COMMAND...]"
    add_folder(parser)
    parser.add_argument(
        "--variant", metavar="NAME", help="by default the one that would be loaded here"
    )
    parser.add_argument(
        "--emulate", action="store_true", help="give PyTorch an emulated AMD GPU: on the CPU"
    )


def run(args: argparse.Namespace) -> int:
    """Start it; the exit status is the shell's, or the command's."""
    from kernelmill.builder.cli.subshell import copy_variant, run_in  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.package import METADATA_NAME, OUTPUT_FOLDER  # noqa: PLC0415 - as above
    from kernelmill.builder.sources import read_manifest  # noqa: PLC0415 - as above

    root = args.dir.resolve()
    manifest, _ = read_manifest(root)
    output = root / OUTPUT_FOLDER
    built = sorted(it.parent.name for it in output.glob(f"*/{METADATA_NAME}"))
    variant = choose_variant(built, asked=args.variant, is_emulated=args.emulate)
    emulator = [sys.executable, "-m", "kernelmill.emulator", "run", "--"]
    with TemporaryDirectory(prefix="kernel-builder-testshell-") as folder:
        name = manifest.general.name.python_name
        kernel, package = copy_variant(output / variant, Path(folder), name)
        around = _surroundings(
            manifest, variant, kernel=kernel, package=package, is_emulated=args.emulate
        )
        return run_in(around, args.rest, prefix=emulator if args.emulate else ())


def _surroundings(
    manifest: Manifest, variant: str, *, kernel: Path, package: Path, is_emulated: bool
) -> Surroundings:
    from kernelmill.builder import shell_environment as shells  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.trial import command  # noqa: PLC0415 - as above

    general = manifest.general
    is_cpu = "-cpu" in variant or (not is_emulated and variant == "torch-universal")
    known = general.hub and general.hub.repo_id
    return shells.Surroundings(
        title=f"{general.name} {variant}{' (emulated)' if is_emulated else ''}",
        variables={
            shells.VARIANT: variant,
            command.UNDER_TEST: str(kernel),
            command.DEVICE: "cpu" if is_cpu else "cuda",
        },
        path=(str(Path(sys.executable).parent),),
        python_path=(str(package),),
        local_kernels={str(known): str(kernel)} if known else {},
    )


def choose_variant(built: Sequence[str], *, asked: str | None, is_emulated: bool) -> str:
    """Return the variant that a shell is for.

    Raises:
        SourceError: nothing is built, or not what is asked for, or nothing fits here.
    """
    from kernelmill.builder.cli.testing import probe_site  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.errors import SourceError  # noqa: PLC0415 - as above
    from kernelmill.spec.resolve import resolve  # noqa: PLC0415 - as above

    if asked in built:
        return str(asked)
    if asked or not built:
        raise SourceError(
            f"{asked or 'nothing'} is {'not built' if asked else 'built'} yet",
            hint=f"run `kernel-builder build{f' --variant {asked}' if asked else ''}` first",
        )
    if is_emulated:
        fits = [name for name in built if "-rocm" in name]
        if not fits:
            raise SourceError(
                "no build for rocm to emulate: there is " + ", ".join(built),
                hint="run `kernel-builder build --backend rocm` first, or leave out --emulate",
            )
    else:
        chosen = resolve(built, probe_site(sys.executable).host).chosen
        fits = [str(chosen)] if chosen else []
    if len(fits) != 1 and len(built) != 1:
        raise SourceError(
            f"{len(fits)} of {', '.join(built)} would do here", hint="say which with --variant"
        )
    return (fits or list(built))[0]
