"""Locking, as the original's ``kernels.locking`` offers it to programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.runtime import locks as lockfiles
from kernelmill.runtime.errors import NotLocked, Unresolved
from kernelmill.runtime.locking import Locker
from kernelmill.runtime.upstream.locks import KernelLock, KernelLocks
from kernelmill.runtime.upstream.sessions import session_of
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.trust import Trust
    from kernelmill.runtime.upstream.dependencies import KernelDependency
    from kernelmill.runtime.upstream.sessions import Api


def lock_kernel_tree(
    kernel: KernelDependency,
    *,
    api: Api | None,
    seen: set[KernelDependency] | None = None,
    kernel_locks: dict[KernelDependency, KernelLock] | None = None,
    trust_remote_code: Trust = False,
) -> dict[KernelDependency, KernelLock]:
    """Return the commits of a kernel and of all that any of its builds depends on.

    Args:
        kernel: what is locked.
        api: the Hub that is asked.
        seen: the kernels that need this one.
        kernel_locks: what is locked already; the rest is added to it.
        trust_remote_code: as for ``get_kernel``.

    Raises:
        Unresolved: kernels depend on each other; a ``ValueError``.
        NotTrusted: a publisher is not trusted; a ``ValueError``.
    """
    locked = {} if kernel_locks is None else kernel_locks
    if kernel in locked:
        return locked
    session = session_of(api)
    locker = Locker(hub=session.hub, cache=session.cache, trust=trust_remote_code)
    result = locker.lock([kernel.to_spec()])
    found = KernelLocks.from_spec(result.lockfile)
    circles = [" -> ".join(it) for it in result.cycles]
    circles += [it.repo_id for it in found if it in (seen or ())]
    if circles:
        raise Unresolved(f"Cyclic kernel dependency detected: {circles[0]}")
    locked.update(found.items())
    return locked


def extract_dependency_locks(
    kernels: list[KernelDependency], *, api: Api | None, trust_remote_code: Trust = False
) -> KernelLocks:
    """Return the lock file of a project that depends on ``kernels``.

    Raises:
        InputError: there are none; a ``ValueError``.
    """
    locked: dict[KernelDependency, KernelLock] = {}
    for each in kernels:
        lock_kernel_tree(each, api=api, kernel_locks=locked, trust_remote_code=trust_remote_code)
    if not locked:
        raise InputError("No kernels found to lock.", hint="name them in pyproject.toml")
    return KernelLocks(locked)


def get_locked_kernel_revision(
    repo_id: str, lockfile: Path
) -> tuple[KernelLocks, KernelDependency]:
    """Return what a lock file holds, and the entry of one repository.

    Raises:
        NotLocked: there is no lock file, or it does not hold the repository; a ``ValueError``.
    """
    return _entry(repo_id, KernelLocks.from_spec(lockfiles.read_lockfile(lockfile)))


def get_caller_locked_kernel_revision(repo_id: str) -> tuple[KernelLocks, KernelDependency]:
    """Do the same for the lock file that was installed with the calling package."""
    return _entry(repo_id, KernelLocks.from_spec(lockfiles.locks_of(None)))


def _entry(repo_id: str, locks: KernelLocks) -> tuple[KernelLocks, KernelDependency]:
    found = next((each for each in locks if each.repo_id == repo_id), None)
    if found is None:
        raise NotLocked(f"Kernel `{repo_id}` is not locked.", hint=lockfiles.HINT)
    return locks, found
