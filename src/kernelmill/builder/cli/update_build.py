"""``kernel-builder update-build``: bring ``build.toml`` to the newest edition."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_folder, add_json, note, print_json
from kernelmill.builder.fileset import FileSet
from kernelmill.builder.sources import MANIFEST_NAME, find_license, read_manifest_text
from kernelmill.spec import manifest as manifest_format
from kernelmill.spec.errors import ManifestError
from kernelmill.spec.licenses import license_objection
from kernelmill.spec.manifest import LicenseHint

if TYPE_CHECKING:
    import argparse

    from kernelmill.spec.manifest import Reading

HELP = "rewrite build.toml in the newest edition, keeping its comments"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the changes, write nothing")
    parser.add_argument(
        "--license", metavar="SPDX", help="the license, where neither build.toml nor a file has it"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Rewrite the file, and say what had to be assumed."""
    root = args.dir.resolve()
    text = read_manifest_text(root)
    hint = LicenseHint(expression=args.license, source="--license") if args.license else None
    reading = manifest_format.read(
        text, where=MANIFEST_NAME, license_hint=hint or find_license(root)
    )
    _require_license(reading, text)
    updated = _updated(text, reading)
    if not args.dry_run and updated != text:
        FileSet({MANIFEST_NAME: updated}).write(root, force=True)
    _print_result(args, reading, text, updated)
    return 0


def _require_license(reading: Reading, text: str) -> None:
    if reading.lacks_license:
        raise ManifestError(
            "no license is named, and no LICENSE file here has a text that is known",
            where=manifest_format.places(text, where=MANIFEST_NAME).where(("general",)),
            hint="say which with --license Apache-2.0, as an SPDX expression",
        )


def _updated(text: str, reading: Reading) -> str:
    if not reading.edits:
        return text
    from kernelmill.builder.rewriting import rewrite  # noqa: PLC0415 - brings tomlkit

    rewritten = rewrite(text, reading)
    if rewritten is None:
        note("the layout of the file is too unusual to be kept: its comments are lost")
        return manifest_format.dumps(reading.manifest)
    return rewritten


def _print_result(args: argparse.Namespace, reading: Reading, text: str, updated: str) -> None:
    for phrase in reading.assumed:
        note(f"assumed: {phrase}")
    if objection := license_objection(reading.manifest.general.license):
        note(f"warning: {objection}")
    newest = reading.manifest.edition
    if args.json:
        document: dict[str, object] = {
            "from_edition": reading.edition,
            "to_edition": newest,
            "edits": [str(it) for it in reading.edits],
            "assumed": list(reading.assumed),
            "written": updated != text and not args.dry_run,
        }
        print_json(document)
    elif not reading.edits:
        print(f"{MANIFEST_NAME} is of edition {newest}: nothing to do")
    elif args.dry_run:
        lines = (text.splitlines(keepends=True), updated.splitlines(keepends=True))
        print("".join(difflib.unified_diff(*lines, MANIFEST_NAME, f"{MANIFEST_NAME} (new)")))
    else:
        print(f"{MANIFEST_NAME}: edition {reading.edition} is now edition {newest}")
