"""``kernel-builder fill-card``: fill in the card of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.cli.options import add_folder, note

if TYPE_CHECKING:
    import argparse

HELP = "fill in the template CARD.md, into build/CARD.md"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("--repo-id", metavar="OWNER/NAME", help="by default that of build.toml")
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="another file; - for the standard output"
    )


def run(args: argparse.Namespace) -> int:
    """Write the card, and print where it is."""
    from kernelmill.builder.card import CARD_NAME  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.errors import SourceError  # noqa: PLC0415 - as above

    root = args.dir.resolve()
    if not (root / CARD_NAME).is_file():
        raise SourceError(
            f"there is no {CARD_NAME}", where=str(root), hint="`kernel-builder init` writes one"
        )
    if args.output == "-":
        print(read_card(root, repo_id=args.repo_id), end="")
        return 0
    target = Path(args.output) if args.output else None
    print(fill(root, repo_id=args.repo_id, target=target))
    return 0


def fill(root: Path, *, repo_id: str | None, target: Path | None = None) -> Path | None:
    """Fill in the card of the kernel in ``root``, if it has one, and return the result's path."""
    from kernelmill.builder.card import CARD_NAME  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.errors import ToolchainError  # noqa: PLC0415 - as above
    from kernelmill.builder.package import OUTPUT_FOLDER  # noqa: PLC0415 - as above

    if not (root / CARD_NAME).is_file():
        return None
    place = target or root / OUTPUT_FOLDER / CARD_NAME
    text = read_card(root, repo_id=repo_id)
    temporary = place.with_name(f".{place.name}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(place)
    except OSError as error:
        raise ToolchainError(
            f"cannot write the card: {error.strerror}", where=str(place), hint="see --output"
        ) from error
    return place


def read_card(root: Path, *, repo_id: str | None) -> str:
    """Return the card of the kernel in ``root``, filled in."""
    from kernelmill.builder import card  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.sources import package_folder, read_manifest  # noqa: PLC0415 - as above
    from kernelmill.spec.names import RepoId  # noqa: PLC0415 - as above

    manifest, _ = read_manifest(root)
    package = root / package_folder(manifest)
    values = card.card_values(
        manifest,
        package=_source(package / "__init__.py"),
        layers=_source(package / "layers.py") or _source(package / "layers" / "__init__.py"),
        repo_id=str(RepoId.parse(repo_id, where="--repo-id")) if repo_id else None,
        has_benchmark=any(root.glob("benchmarks/benchmark*.py")),
    )
    template = (root / card.CARD_NAME).read_text(encoding="utf-8")
    if not values["functions"] and "functions" in template:
        note(f"warning: {package_folder(manifest)}/__init__.py has no __all__ to list")
    return card.fill_card(template, values, where=card.CARD_NAME)


def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
