"""A lock on a file, between the threads of this process and before all other processes.

The same lock as filelock's, which is used where there is no ``flock``: its import takes longer than
all else that a first load does here before it asks the Hub.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAUSE_S: Final = 0.05
TAKEN: Final = frozenset({errno.EAGAIN, errno.EACCES})

_held: set[int] = set()
"""The descriptors of the locks that are held. They are not a forked child's to keep."""


def _close_inherited() -> None:
    """Leave the parent's locks to the parent: while a copy is open, its end frees none of them."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


@contextmanager
def locked(path: Path, timeout_s: float = -1) -> Iterator[None]:
    """Hold the lock of a file in the block. The file is made, and stays.

    Args:
        path: the file.
        timeout_s: how long to wait; for ever by default.

    Raises:
        TimeoutError: somebody else held it for so long.
        OSError: the file cannot be opened or locked.
    """
    if sys.platform == "win32":
        from filelock import FileLock  # noqa: PLC0415 - here alone

        with FileLock(path, timeout=timeout_s, preserve_lock_file=True):
            yield
        return
    import fcntl  # noqa: PLC0415 - not everywhere

    # A mode of 0666: the umask says who may lock, for a cache may belong to a group.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    _held.add(descriptor)
    owner = os.getpid()
    try:
        _wait(descriptor, path, timeout_s)
        yield
    finally:
        if os.getpid() == owner:  # in a child that was forked in the block, it is closed already
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            _held.discard(descriptor)
            os.close(descriptor)


def _wait(descriptor: int, path: Path, timeout_s: float) -> None:
    import fcntl  # noqa: PLC0415 - as above

    end_s = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if timeout_s >= 0 else 0))
        except OSError as error:
            if error.errno not in TAKEN:
                raise
        else:
            return
        if time.monotonic() >= end_s:
            raise TimeoutError(f"{path} is locked by somebody else")
        time.sleep(PAUSE_S)
