"""Reading of files that somebody else wrote and whose signature is not checked yet."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Unreadable(Exception):
    """A file is there and must not be read; says why."""


def read_bounded(path: Path, *, root: Path, limit_bytes: int) -> bytes | None:
    """Return a file's content; None when there is no file.

    Args:
        path: the file.
        root: the folder that links may not leave.
        limit_bytes: a larger file is not read.

    Raises:
        Unreadable: it leads out of ``root``, is too large, or is no regular file.
    """
    try:
        target = path.resolve()
        if not target.is_relative_to(root.resolve()):
            raise Unreadable(f"{path.name} is a link out of {root}")
        # Opening a pipe would wait for its other end.
        descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, RuntimeError) as error:  # the latter for a loop of links, until Python 3.13
        reason = error.strerror if isinstance(error, OSError) else "a loop of links"
        raise Unreadable(f"{path.name} cannot be read: {reason}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(f"{path.name} is not a regular file")
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise Unreadable(f"{path.name} has more than {limit_bytes} bytes")
    return content
