"""Arguments that several commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

JSON_VERSION = 1


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Declare the kernel's folder."""
    parser.add_argument(
        "dir",
        nargs="?",
        default=Path(),
        type=_folder,
        metavar="DIR",
        help="the folder of build.toml",
    )


def _folder(text: str) -> Path:
    """Return the folder that ``text`` means; naming the manifest in it is as good."""
    from kernelmill.builder.sources import MANIFEST_NAME  # noqa: PLC0415 - `--help` needs it not

    path = Path(text)
    return path.parent if path.name == MANIFEST_NAME and path.is_file() else path


def add_json(parser: argparse._ActionsContainer) -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def print_json(document: dict[str, object]) -> None:
    """Print ``document`` with the version of its form."""
    print(json.dumps({"version": JSON_VERSION, **document}, indent=2))


def note(text: str) -> None:
    """Tell something that is not the command's result."""
    print(text, file=sys.stderr, flush=True)


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Declare ``--backend``."""
    parser.add_argument(
        "--backend",
        action="append",
        metavar="NAME",
        help="cpu, rocm or cpu,rocm; by default all of build.toml that can be built for",
    )
