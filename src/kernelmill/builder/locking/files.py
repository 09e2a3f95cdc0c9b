"""The lock of a kernel on disk."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kernelmill.builder.locking import format as lock_format
from kernelmill.builder.locking.errors import BuildLockError
from kernelmill.builder.locking.format import LOCK_NAME, Lock

if TYPE_CHECKING:
    from pathlib import Path


def read_lock(root: Path) -> tuple[Lock, str]:
    """Return the lock of the kernel in ``root``, and the file's sha256.

    Raises:
        BuildLockError: there is none, or it is damaged.
    """
    place = root / LOCK_NAME
    try:
        content = place.read_bytes()
    except FileNotFoundError:
        raise BuildLockError(
            f"no {LOCK_NAME} here", where=str(root), hint="write one with `kernel-builder lock`"
        ) from None
    except OSError as error:
        raise BuildLockError(f"cannot be read: {error.strerror}", where=str(place)) from error
    text = content.decode("utf-8", errors="backslashreplace")
    return lock_format.parse(text, where=LOCK_NAME), hashlib.sha256(content).hexdigest()


def write_lock(root: Path, lock: Lock) -> bool:
    """Write the lock, all at once; return whether that changed it."""
    place, text = root / LOCK_NAME, lock_format.dumps(lock)
    if place.is_file() and place.read_bytes() == text.encode():
        return False
    temporary = place.with_name(f".{LOCK_NAME}.new")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    temporary.replace(place)
    return True
