"""``kernel-builder check-config``: read ``build.toml`` and list every mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.check.manifest import check_manifest
from kernelmill.builder.cli.options import add_folder, add_json, note, print_json
from kernelmill.builder.sources import read_tree
from kernelmill.spec.errors import ManifestError
from kernelmill.spec.licenses import license_objection

if TYPE_CHECKING:
    import argparse

HELP = "check build.toml and the files that it names"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print one line when all is well; mistakes are errors."""
    tree = read_tree(args.dir.resolve())
    if faults := check_manifest(tree):
        raise ManifestError(f"{len(faults)} mistakes", faults=faults)
    general = tree.manifest.general
    objection = license_objection(general.license)
    if objection:
        note(f"warning: {tree.where('general', 'license')}: {objection}")
    if args.json:
        document: dict[str, object] = {
            "name": str(general.name),
            "kernel_version": general.version,
            "backends": list(general.backends),
            "license": general.license,
            "warnings": [objection] if objection else [],
            "files": sorted(tree.files),
        }
        print_json(document)
    else:
        backends = ", ".join(general.backends)
        print(f"{general.name} version {general.version} for {backends}: {len(tree.files)} files")
    return 0
