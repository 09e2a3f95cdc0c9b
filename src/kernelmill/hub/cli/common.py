"""What the commands share."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kernelmill.hub.service.hub import Hub


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--data``."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the Hub's data folder"
    )


@contextmanager
def existing_hub(folder: Path) -> Iterator[Hub]:
    """Open a data folder that ``serve`` has made; the Hub may be running meanwhile.

    Raises:
        SettingError: there is none.
    """
    from kernelmill.hub.errors import SettingError
    from kernelmill.hub.service.hub import open_hub
    from kernelmill.hub.settings import Settings

    if not (folder / "hub.sqlite3").is_file():
        raise SettingError(
            "there is no Hub in this folder",
            where=str(folder),
            hint="start one first: kernel-hub serve --data DIR",
        )
    os.umask(0o077)
    hub = open_hub(Settings(data=folder))
    try:
        yield hub
    finally:
        hub.close()
