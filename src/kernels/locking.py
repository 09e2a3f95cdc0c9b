"""Lock files."""

from kernelmill.runtime.locking import (
    write_egg_lockfile,
)

__all__ = [
    "write_egg_lockfile",
]
