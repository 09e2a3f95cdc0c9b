"""The lock of a kernel on disk, and the hashes of what it gives."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kernelmill.builder.locking import expected as expected_format
from kernelmill.builder.locking import format as lock_format
from kernelmill.builder.locking.errors import BuildLockError
from kernelmill.builder.locking.expected import EXPECTED_NAME
from kernelmill.builder.locking.format import LOCK_NAME, Lock

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.locking.expected import Expected


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
    _replace(place, text)
    return True


def read_expected(root: Path) -> Expected:
    """Return the hashes that are recorded for the kernel in ``root``; nothing where none are.

    Raises:
        BuildLockError: the file is damaged.
    """
    place = root / EXPECTED_NAME
    if not place.is_file():
        return {}
    text = place.read_text(encoding="utf-8", errors="backslashreplace")
    return expected_format.parse(text, where=EXPECTED_NAME)


def write_expected(root: Path, expected: Expected) -> None:
    """Write ``build.sha256``, all at once."""
    _replace(root / EXPECTED_NAME, expected_format.dumps(expected))


def _replace(place: Path, text: str) -> None:
    temporary = place.with_name(f".{place.name}.new")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    temporary.replace(place)
