"""Lock files and tables of paths, as ``kernels._rust`` has them. ``spec`` knows the formats."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from kernelmill.runtime.upstream.dependencies import KernelDependency, version_of
from kernelmill.runtime.upstream.mappings import ByDependency
from kernelmill.runtime.upstream.text import spell_fields
from kernelmill.spec import lockfile
from kernelmill.spec.dependencies import KernelDependency as SpecDependency
from kernelmill.spec.dependencies import kernel_dependency
from kernelmill.spec.errors import KernelError, LockfileError
from kernelmill.spec.names import RepoId
from kernelmill.spec.reader import Convert, Faults, Place, each, table, text

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

T = TypeVar("T")

_OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, repr=False)
class KernelLock:
    """The commit that a kernel is locked to.

    Raises:
        LockfileError: it is not a whole commit id; a ``ValueError``.
    """

    commit: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "commit", _object_id(self.commit))

    @classmethod
    def from_json(cls, s: str) -> Self:
        """Read one JSON object.

        Raises:
            LockfileError: it is something else; a ``ValueError``.
        """
        names = tuple(cls.__dataclass_fields__)
        return _read_json(s, cls.__name__, lambda raw, at: cls(*_texts(raw, at, names)))

    def to_json(self) -> str:
        """Write one JSON object, with two spaces."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)

    def __repr__(self) -> str:
        return spell_fields(type(self).__name__, **asdict(self))


@dataclass(frozen=True, slots=True, repr=False)
class NixKernelLock(KernelLock):
    """The commit that a kernel is locked to, and the hash that Nix knows its files by."""

    hash: str


class KernelLocks(ByDependency[KernelLock]):
    """A lock file: what each dependency is locked to."""

    VALUES = KernelLock

    def __init__(self, locks: dict[KernelDependency, KernelLock]) -> None:
        super().__init__(locks, "locks")

    @classmethod
    def from_json(cls, s: str) -> Self:
        """Read a lock file of either format.

        The old format does not say what was asked for: there each kernel's commit stands for it.

        Raises:
            LockfileError: it is neither; a ``ValueError``.
        """
        kernels = _read_locks(s, cls.__name__)
        return cls({_asked_for(it): KernelLock(it.commit) for it in kernels})

    def to_json(self) -> str:
        """Write today's format.

        Raises:
            InvalidName: a key is not the id of a repository; a ``ValueError``.
        """
        return _dump(self._items)


class NixKernelLocks(ByDependency[NixKernelLock]):
    """A lock file with the hashes that Nix needs."""

    VALUES = NixKernelLock

    def __init__(self, locks: dict[KernelDependency, NixKernelLock]) -> None:
        super().__init__(locks, "locks")

    @classmethod
    def from_json(cls, s: str) -> Self:
        """Read a lock file that Nix wrote.

        Raises:
            LockfileError: it is none, or lacks a hash; a ``ValueError``.
        """
        kernels = _read_locks(s, cls.__name__)
        return cls({_asked_for(it): NixKernelLock(it.commit, _nix_hash(it)) for it in kernels})

    def to_json(self) -> str:
        """Write the format that Nix reads.

        Raises:
            InvalidName: a key is not the id of a repository; a ``ValueError``.
        """
        return _dump(self._items)


class KernelPaths(ByDependency[Path]):
    """Where on disk each dependency is."""

    VALUES = Path

    def __init__(self, paths: dict[KernelDependency, os.PathLike[str] | str]) -> None:
        super().__init__({key: Path(path) for key, path in paths.items()}, "paths")

    @classmethod
    def from_json(cls, s: str) -> Self:
        """Read ``[{"dependency": ..., "path": ...}]``.

        Raises:
            LockfileError: it is something else; a ``ValueError``.
        """
        entries = _read_json(s, cls.__name__, each(_path_entry, key=lambda entry: entry[0]))
        return cls({KernelDependency.from_spec(key): path for key, path in entries})

    def to_json(self) -> str:
        """Write it, sorted, with two spaces."""
        entries = [
            {"dependency": _dependency_json(key), "path": str(path)} for key, path in self.items()
        ]
        return json.dumps(entries, indent=2, ensure_ascii=False)


def _object_id(commit: str) -> str:
    if not _OBJECT_ID.fullmatch(commit.lower()):
        problem = f"Invalid git object id, expected 40 or 64 hexadecimal digits: {commit}"
        raise LockfileError(problem, hint="give a whole commit id")
    return commit.lower()


def _asked_for(kernel: lockfile.LockedKernel) -> KernelDependency:
    if kernel.dependency is None:
        return KernelDependency(str(kernel.repo_id), version_of(None, kernel.commit))
    return KernelDependency.from_spec(kernel.dependency)


def _read_locks(s: str, what: str) -> tuple[lockfile.LockedKernel, ...]:
    try:
        return lockfile.parse(s, where=what).kernels
    except LockfileError as error:
        raise _renamed(error, what) from error


def _nix_hash(kernel: lockfile.LockedKernel) -> str:
    if kernel.nix_hash is None:
        raise LockfileError(f"Cannot parse NixKernelLocks: '{kernel.repo_id}' has no hash")
    return kernel.nix_hash


def _dump(locks: Mapping[KernelDependency, KernelLock]) -> str:
    kernels = (
        lockfile.LockedKernel(
            repo_id=RepoId.parse(key.repo_id),
            version=key.number,
            revision=key.revision,
            commit=value.commit,
            nix_hash=value.hash if isinstance(value, NixKernelLock) else None,
        )
        for key, value in locks.items()
    )
    return lockfile.dumps(lockfile.Lockfile(kernels=tuple(kernels)))


def _dependency_json(key: KernelDependency) -> dict[str, object]:
    wanted = {"revision": key.revision} if key.number is None else {"version": key.number}
    return {"repo-id": key.repo_id, **wanted}


def _read_json(s: str, what: str, convert: Convert[T]) -> T:
    """Read a JSON text, and name ``what`` it should be when it is not."""
    faults = Faults(file=what, lines={})
    try:
        value = convert(json.loads(s), Place(path=(), faults=faults))
    except KernelError as error:
        faults.record((), error)
    except (ValueError, RecursionError) as error:
        raise LockfileError(f"Cannot parse {what}: {error}") from error
    if faults.found:
        raise _renamed(faults.found[0], what)
    return value


def _renamed(error: KernelError, what: str) -> LockfileError:
    problem = error.problem.removeprefix("Cannot parse KernelLocks: ")
    place = error.where.removeprefix(what).strip()
    parts = filter(None, (f"Cannot parse {what}", place, problem))
    return LockfileError(": ".join(parts), hint=error.hint)


def _texts(value: object, place: Place, names: tuple[str, ...]) -> tuple[str, ...]:
    item = table(value, place)
    texts = tuple(item.required(name, text, stand_in="") for name in names)
    item.reject_unknown()
    return texts


def _path_entry(value: Any, place: Place) -> tuple[SpecDependency, Path]:  # noqa: ANN401 - JSON
    item = table(value, place)
    nothing = SpecDependency(repo_id=RepoId(namespace="", name=""), version=0)
    dependency = item.required("dependency", kernel_dependency, stand_in=nothing)
    path = item.required("path", text, stand_in="")
    item.reject_unknown()
    return dependency, Path(path)
