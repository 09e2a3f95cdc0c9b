"""Lock files."""

from kernelmill.runtime.locking import write_egg_lockfile
from kernelmill.runtime.upstream.locking import (
    extract_dependency_locks,
    get_caller_locked_kernel_revision,
    get_locked_kernel_revision,
    lock_kernel_tree,
)

__all__ = [
    "extract_dependency_locks",
    "get_caller_locked_kernel_revision",
    "get_locked_kernel_revision",
    "lock_kernel_tree",
    "write_egg_lockfile",
]
