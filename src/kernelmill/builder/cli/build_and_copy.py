"""``kernel-builder build-and-copy``: have the built variants in ``build/``, as plain files."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cli import build
from kernelmill.builder.cli.options import note, print_json
from kernelmill.builder.errors import SourceError

if TYPE_CHECKING:
    import argparse

_NIX_STORE: Final = Path("/nix/store")
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
        SourceError: there are no variants, or one cannot be copied as it is.
        HostError: they are being copied already.
    """
    from kernelmill.builder.package import METADATA_NAME  # noqa: PLC0415 - heavy
    from kernelmill.builder.workplace import (  # noqa: PLC0415 - heavy
        WORK_FOLDER,
        make_folder,
        only_build,
    )

    found = sorted(it.parent for it in source.glob(f"*/{METADATA_NAME}"))
    if not found:
        raise SourceError(
            f"No build variants found in {source}", hint="build first, or name another folder"
        )
    work = root / WORK_FOLDER / "copies"
    make_folder(work)
    with only_build(work):
        return tuple(_copy_variant(it, root, work) for it in found)


def _copy_variant(variant: Path, root: Path, work: Path) -> Path:
    from kernelmill.builder.package import OUTPUT_FOLDER, replace_folder  # noqa: PLC0415 - heavy
    from kernelmill.builder.workplace import clear  # noqa: PLC0415 - heavy

    new, target = work / "new", root / OUTPUT_FOLDER / variant.name
    clear(new)
    try:
        _copy_files(variant.resolve(), new)
        replace_folder(new, target, trash=work / "old")
    except OSError as error:
        raise SourceError(
            f"cannot be copied: {error.strerror or error}",
            where=str(error.filename or variant),
            hint="nothing of this variant was copied: correct that, and copy again",
        ) from error
    note(f"copied {variant}")
    return target


def _copy_files(source: Path, target: Path) -> None:
    """Copy all files below ``source``, and those that links in it lead to.

    Raises:
        SourceError: a link leads to what is no part of the builds, nor of Nix's store.
        OSError: something cannot be read, or is no file.
    """
    for folder, _, names in os.walk(source, followlinks=True, onerror=_stop):
        place = target / Path(folder).relative_to(source)
        _ensure_part(Path(folder), source)
        place.mkdir(exist_ok=True)
        for name in names:
            _ensure_part(Path(folder) / name, source)
            shutil.copyfile(Path(folder) / name, place / name)


def _ensure_part(path: Path, source: Path) -> None:
    if not path.is_symlink():
        return
    real = path.resolve()
    if real in {it.resolve() for it in path.parents}:
        raise SourceError("is a link to a folder around it", where=str(path), hint="remove it")
    if not (real.is_relative_to(source.parent) or real.is_relative_to(_NIX_STORE)):
        raise SourceError(
            "is a link out of the builds", where=str(path), hint="put the file in its place"
        )


def _stop(error: OSError) -> None:
    raise error
