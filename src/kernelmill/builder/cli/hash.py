"""``kernel-builder hash``: write the hashes of the built files into their metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_folder, add_json, note, print_json
from kernelmill.builder.wording import count_of

if TYPE_CHECKING:
    import argparse

HELP = "write the SHA-256 of every file of each variant into its metadata.json"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Hash, and print a line for each variant."""
    from kernelmill.builder.hashing import hash_variant  # noqa: PLC0415 - heavy
    from kernelmill.builder.variants import find_variants  # noqa: PLC0415 - heavy

    done = [hash_variant(folder) for folder in find_variants(args.dir)]
    for it in done:
        for name in it.stale_signatures:
            note(f"{it.folder / name} signed the metadata as it was: sign the variant again")
    if args.json:
        document = [
            {"variant": it.folder.name, "files": it.file_count, "changed": it.is_changed}
            for it in done
        ]
        print_json({"variants": document})
    else:
        for it in done:
            state = "written" if it.is_changed else "unchanged"
            print(f"{it.folder.resolve().name}: {count_of(it.file_count, 'file')}, {state}")
    return 0
