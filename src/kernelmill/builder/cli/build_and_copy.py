"""``kernel-builder build-and-copy``: have the built variants in ``build/``, as plain files."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli import build
from kernelmill.builder.cli.options import note, print_json
from kernelmill.builder.errors import SourceError
from kernelmill.builder.package import METADATA_NAME, OUTPUT_FOLDER, replace_folder
from kernelmill.builder.workplace import WORK_FOLDER, make_folder

if TYPE_CHECKING:
    import argparse

HELP = "build a kernel, or take what Nix built, and copy the variants to build/"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: those of ``build``, and where else variants may come from."""
    build.configure(parser)
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FOLDER",
        help="build nothing: copy the variants in FOLDER, for example result",
    )


def run(args: argparse.Namespace) -> int:
    """Print the folders of the variants in ``build/``."""
    root = args.dir.resolve()
    if args.source is None:
        # What is built here is put into build/ by the build itself.
        return build.run(args)
    with redirect_stdout(sys.stderr):
        copied = copy_variants(args.source, root)
    if args.json:
        print_json({"variants": [{"variant": it.name, "folder": str(it)} for it in copied]})
    else:
        print("\n".join(map(str, copied)))
    return 0


def copy_variants(source: Path, root: Path) -> tuple[Path, ...]:
    """Copy every variant in ``source`` to the kernel's ``build/``: each one whole, or not at all.

    Links are followed and files are made writable: in a Nix store they are not.

    Raises:
        SourceError: there are no variants.
    """
    found = sorted(it.parent for it in source.glob(f"*/{METADATA_NAME}"))
    if not found:
        raise SourceError(
            f"No build variants found in {source}", hint="build first, or name another folder"
        )
    work = root / WORK_FOLDER / "copies"
    copied = []
    for variant in found:
        new, target = work / variant.name, root / OUTPUT_FOLDER / variant.name
        shutil.rmtree(new, ignore_errors=True)
        make_folder(new)
        _copy_files(variant, new)
        replace_folder(new, target, trash=work / f"{variant.name}.old")
        note(f"copied {variant}")
        copied.append(target)
    return tuple(copied)


def _copy_files(source: Path, target: Path) -> None:
    for folder, _, names in os.walk(source, followlinks=True):
        place = target / Path(folder).relative_to(source)
        place.mkdir(exist_ok=True)
        for name in names:
            shutil.copyfile(Path(folder) / name, place / name)
