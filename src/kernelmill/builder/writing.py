"""Write and remove what is in a kernel's folder, which is often another's: no link is followed."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def replace_text(place: Path, text: str, *, temporary: Path | None = None) -> None:
    """Make ``text`` the content of ``place``: all of it, or nothing is changed.

    Args:
        place: a file, or a free name; a link is replaced, and what it leads to is left alone.
        text: what to write; line ends stay as they are.
        temporary: a name on the same file system; one beside it by default.

    Raises:
        OSError: it cannot be written.
    """
    new = temporary or place.with_name(f".{place.name}.tmp")
    place.parent.mkdir(parents=True, exist_ok=True)
    remove(new)
    try:
        with os.fdopen(os.open(new, _NEW, 0o666), "wb") as file:
            file.write(text.encode())
        new.replace(place)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise


def remove(place: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it; nothing where there is none.

    Raises:
        OSError: it cannot be removed.
    """
    try:
        place.unlink()
    except FileNotFoundError:
        return
    except OSError:  # which error a folder gives depends on the system
        if place.is_symlink() or not place.is_dir():
            raise
        shutil.rmtree(place)
