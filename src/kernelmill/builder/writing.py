"""Write and remove what is in a kernel's folder, which is often another's: no link is followed."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
REFUSED_BY_DISK: Final = _FULL | {errno.EIO, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}
"""What the system says when it is not our fault that something cannot be written."""
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
    replace_texts({place: text}, temporary=temporary)


def replace_texts(texts: Mapping[Path, str], *, temporary: Path | None = None) -> None:
    """Make every text the content of its place: all of them, or nothing is changed.

    Only a crash, or somebody who moves folders meanwhile, leaves some of them.

    Raises:
        OSError: one cannot be written; names it.
    """
    made: list[Path] = []
    new = {place: temporary or place.with_name(f".{place.name}.tmp") for place in texts}
    try:
        for place, text in texts.items():
            _make_folder(place.parent, made)
            _write_new(new[place], text)
        for place, written in new.items():
            written.replace(place)
    except OSError as error:
        error.filename = str(place)  # not the temporary name, which nobody knows
        for path in (*new.values(), *reversed(made)):
            with suppress(OSError):
                path.rmdir() if path in made else path.unlink()
        raise


def write_hint(error: OSError) -> str:
    """Return what to do about a disk that something could not be written to."""
    if error.errno in _FULL:
        return "make room on the disk"
    return "choose a folder that you may write to"


def _make_folder(folder: Path, made: list[Path]) -> None:
    missing = [it for it in (folder, *folder.parents) if not it.exists()]
    made += reversed(missing)
    folder.mkdir(parents=True, exist_ok=True)


def _write_new(place: Path, text: str) -> None:
    remove(place)
    with os.fdopen(os.open(place, _NEW, 0o666), "wb") as file:
        file.write(text.encode())


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
