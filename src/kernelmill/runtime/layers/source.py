"""From where a kernel's module is loaded: a Hub, a folder, or a Hub through a lock file.

All of them go through the functions that programs call, so through the same trust and checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kernelmill.runtime.layers.errors import BadRepository
from kernelmill.spec.errors import InputError
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from kernelmill.spec.lockfile import LockedKernel, Lockfile

Trust = bool | str | tuple[str, ...]


def _calling_package() -> str:
    from kernelmill.runtime import locks  # noqa: PLC0415 - a mapping is cheap to import

    return locks.calling_package()


class Source(Protocol):
    """Where a kernel's module comes from. Its text names it, without asking anybody."""

    def load(self) -> ModuleType:
        """Return the kernel's module."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSource:
    """A version or a revision of a repository on the Hub."""

    repo_id: str
    revision: str | None
    version: int | None
    trust: Trust
    user_agent: str | Mapping[str, str] | None = field(default=None, compare=False)

    def load(self) -> ModuleType:
        """Return what ``get_kernel`` returns.

        Raises:
            BadRepository: not exactly one of version and revision was given.
        """
        if (self.revision is None) == (self.version is None):
            both = self.revision is not None
            raise BadRepository(
                f"Either a revision or a version must be specified{', not both' if both else ''}.",
                where=f"repository '{self.repo_id}'",
                hint="pass version=N, or revision=...",
            )
        from kernelmill.runtime import api  # noqa: PLC0415 - a mapping is cheap to import

        return api.get_kernel(
            self.repo_id,
            revision=self.revision,
            version=self.version,
            trust_remote_code=self.trust,
            user_agent=self.user_agent,
        )

    def __str__(self) -> str:
        revision = f"v{self.version}" if self.revision is None else self.revision
        return f"`{self.repo_id}` (revision: {revision})"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSource:
    """A folder of builds."""

    path: Path | str

    def load(self) -> ModuleType:
        """Return what ``get_local_kernel`` returns."""
        from kernelmill.runtime import api  # noqa: PLC0415 - a mapping is cheap to import

        return api.get_local_kernel(Path(self.path))

    def __str__(self) -> str:
        return f"`{self.path}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedSource:
    """The commit that a lock file gives for a repository on the Hub."""

    repo_id: str
    lockfile: Path | None
    """None: the one in the metadata of the distribution that ``package`` belongs to."""
    trust: Trust
    package: str = field(default_factory=_calling_package)

    def load(self) -> ModuleType:
        """Return what ``get_locked_kernel`` returns."""
        from kernelmill.runtime import api  # noqa: PLC0415 - a mapping is cheap to import

        locks = self.read_locks()
        return api.get_locked_kernel(self.repo_id, lockfile=locks, trust_remote_code=self.trust)

    def read_locks(self) -> Lockfile:
        """Return the content of the lock file.

        Raises:
            NotLocked: there is none.
            LockfileError: it cannot be read.
        """
        from kernelmill.runtime import locks  # noqa: PLC0415 - a mapping is cheap to import

        if self.lockfile is None:
            return locks.read_caller_lockfile(self.package)
        return locks.read_lockfile(self.lockfile)

    def read_lock(self) -> LockedKernel:
        """Return what the lock file says of this repository."""
        if found := self.read_locks().find(RepoId.parse(self.repo_id)):
            return found
        raise InputError(
            f"'{self.repo_id}' is not locked",
            where=str(self.lockfile or f"the lock file of package '{self.package}'"),
            hint="run `kernels lock`",
        )

    def __str__(self) -> str:
        try:
            return f"`{self.repo_id}` (revision: {self.read_lock().commit})"
        except (OSError, InputError):  # a text must not fail; loading says what is wrong
            return f"`{self.repo_id}` (locked)"


def trust_of(trust_remote_code: bool | Iterable[str]) -> Trust:
    """Return what the caller trusts as a value that can be compared and hashed."""
    if isinstance(trust_remote_code, bool | str):
        return trust_remote_code  # a string is refused where all trust is judged
    return tuple(trust_remote_code)
