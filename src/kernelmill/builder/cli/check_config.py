"""``kernel-builder check-config``: read ``build.toml`` and list every mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_folder, add_json, note, print_json
from kernelmill.builder.errors import CheckError
from kernelmill.builder.wording import count_of
from kernelmill.spec.errors import ManifestError

if TYPE_CHECKING:
    import argparse

HELP = "check build.toml and the files that it names"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("--strict", action="store_true", help="let warnings be errors: status 1")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print one line when all is well; mistakes are errors, doubts are warnings."""
    from kernelmill.builder.check.lint import lint_sources  # noqa: PLC0415 - heavy
    from kernelmill.builder.check.manifest import check_manifest  # noqa: PLC0415 - heavy
    from kernelmill.builder.sources import read_tree  # noqa: PLC0415 - heavy

    tree = read_tree(args.dir.resolve())
    if faults := check_manifest(tree):
        raise ManifestError(f"{len(faults)} mistakes", faults=faults)
    warnings = lint_sources(tree)
    for warning in warnings:
        note(f"warning: {warning}")
    general = tree.manifest.general
    if args.json:
        document: dict[str, object] = {
            "name": str(general.name),
            "kernel_version": general.version,
            "backends": list(general.backends),
            "license": general.license,
            "files": sorted(tree.files),
            "warnings": [{"problem": it.problem, "hint": it.hint} for it in warnings],
        }
        print_json(document)
    else:
        backends = ", ".join(general.backends)
        print(f"{general.name} version {general.version} for {backends}: {len(tree.files)} files")
    if warnings and args.strict:
        raise CheckError(f"{count_of(len(warnings), 'warning')}, and --strict is given")
    return 0
