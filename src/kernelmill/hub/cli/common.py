"""What the commands share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.hub.errors import PackageMissing

if TYPE_CHECKING:
    import argparse

PACKAGES: Final = (
    "blake3",
    "dulwich",
    "granian",
    "lz4",
    "numpy",
    "obstore",
    "sqlalchemy",
    "starlette",
    "yaml",
)
"""What the extra ``hub`` installs, by the names that are imported."""


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--data``."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the Hub's data folder"
    )


def require_packages() -> None:
    """Stop before the first import of what a plain installation lacks.

    Raises:
        PackageMissing: names every package that is not installed.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise PackageMissing(
            f"not installed: {', '.join(missing)}",
            hint='in a clone of kernelmill: pip install ".[hub]"',
        )
