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
    from kernelmill.builder.writing import replace_text  # noqa: PLC0415 - as above

    if not (root / CARD_NAME).is_file():
        return None
    place = target or root / OUTPUT_FOLDER / CARD_NAME
    text = read_card(root, repo_id=repo_id)
    try:
        replace_text(place, text)
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
    folder = package_folder(manifest)
    layers = _text(root, f"{folder}/layers.py") or _text(root, f"{folder}/layers/__init__.py")
    values = card.card_values(
        manifest,
        package=_text(root, f"{folder}/__init__.py"),
        layers=layers,
        repo_id=str(RepoId.parse(repo_id, where="--repo-id")) if repo_id else None,
        has_benchmark=any(root.glob("benchmarks/benchmark*.py")),
    )
    template = _text(root, card.CARD_NAME)
    if not values["functions"] and "functions" in template:
        note(f"warning: {folder}/__init__.py has no __all__ to list")
    return card.fill_card(template, values, where=card.CARD_NAME)


def _text(root: Path, path: str) -> str:
    """Return the text of a file of the kernel; nothing when there is no such file.

    Raises:
        SourceError: it is a link out of the kernel's folder, or no text: what it holds is shown
            to the readers of the card.
    """
    from kernelmill.builder.errors import SourceError  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.sources import ensure_regular  # noqa: PLC0415 - as above

    if not (root / path).is_file():
        return ""
    ensure_regular(root, [path])
    try:
        return (root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SourceError("is not UTF-8", where=path, hint="save it as UTF-8 text") from error
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}", where=path, hint="make it readable"
        ) from error
