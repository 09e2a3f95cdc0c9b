"""Small files beside the data: whole or absent, and for their owner only."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kernelmill.hub.errors import DataFolderError


def write_private(path: Path, text: str) -> None:
    """Write a file with mode 0600; a reader sees all of it or none.

    Raises:
        DataFolderError: it cannot be written.
    """
    try:
        # mkstemp gives mode 0600 from the first moment.
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError as error:
        raise DataFolderError(
            f"the file cannot be written: {error.strerror}", where=str(path)
        ) from error
