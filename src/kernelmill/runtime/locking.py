"""Lock kernels: find the commit of everything that a project loads, and say what moved.

Every build of every kernel is looked at, since the project may run on another machine than this.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from kernelmill.runtime.cache import write_whole
from kernelmill.runtime.errors import CacheUnusable, NoLockfile, NotTrusted
from kernelmill.runtime.locking_catalogue import fetch_dependencies
from kernelmill.runtime.revisions import choose_revision
from kernelmill.runtime.trust import ensure_trusted
from kernelmill.spec import lockfile as lock_format
from kernelmill.spec.errors import InputError, LockfileError
from kernelmill.spec.lockfile import FILE_NAME, LockedKernel, Lockfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.dependencies import KernelDependency
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)

Graph = dict["KernelDependency", tuple["KernelDependency", ...]]
"""Each kernel, with those that any of its builds loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One way in which a lock file is out of date."""

    kind: Literal["added", "removed", "moved", "format"]
    repo_id: RepoId
    wanted: str
    """``version 1``, a revision in words, or nothing for the old format."""
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        name = f"{self.repo_id} {self.wanted}".rstrip()
        match self.kind:
            case "added":
                return f"{name}: not locked yet, would be {self.after}"
            case "removed":
                return f"{name}: locked, but nothing asks for it"
            case "moved":
                return f"{name}: {self.before} -> {self.after}"
            case "format":
                return f"{name}: in the format until kernels 0.16, which names no version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What a project's lock file should say."""

    lockfile: Lockfile
    cycles: tuple[tuple[str, ...], ...] = ()
    """Kernels that load each other, which loading refuses; the first one is named twice."""


@dataclass(slots=True, kw_only=True)
class Locker:
    """Asks a Hub, and its trust gate, for each kernel once."""

    hub: Hub
    cache: Cache
    trust: Trust = False
    report: Callable[[str], None] = lambda _: None
    _commits: dict[KernelDependency, str] = field(default_factory=dict)

    def lock(self, dependencies: Iterable[KernelDependency]) -> Lock:
        """Return the commit of every one of ``dependencies``, and of what they load in turn.

        Raises:
            NotTrusted: the publisher of one of them is not trusted, nor allowed.
            VersionNotFound: a version does not exist.
            HubError: the Hub cannot be reached, or says no.
        """
        if self.hub.is_offline:
            raise InputError(
                "locking needs the Hub, and the network must not be used",
                where=self.hub.endpoint,
                hint="unset HF_HUB_OFFLINE",
            )
        graph: Graph = {}
        waiting = list(dependencies)
        while waiting:
            wanted = waiting.pop()
            if wanted not in graph:
                graph[wanted] = self._explore(wanted)
                waiting += graph[wanted]
        kernels = tuple(
            LockedKernel(
                repo_id=it.repo_id,
                version=it.version,
                revision=it.revision,
                commit=self._commits[it],
            )
            for it in sorted(graph, key=_sort_key)
        )
        return Lock(lockfile=Lockfile(kernels=kernels), cycles=find_cycles(graph))

    def _explore(self, wanted: KernelDependency) -> tuple[KernelDependency, ...]:
        repo = wanted.repo_id
        pass_gate(self.hub, self.cache, repo, self.trust)
        choice = choose_revision(self.hub, repo, version=wanted.version, revision=wanted.revision)
        self._commits[wanted] = choice.commit
        self.report(f"{repo} {wish_of(wanted)}: {choice.commit}")
        return fetch_dependencies(self.hub, self.cache, repo, choice.commit)


def pass_gate(hub: Hub, cache: Cache, repo: RepoId, trust: Trust) -> None:
    """Ask for trust as loading does, with the advice that a command's user can follow.

    Raises:
        NotTrusted: nobody vouches for the publisher, nor allows the repository.
    """
    try:
        if ensure_trusted(hub, cache, repo, trust):
            cache.remember_trust(repo)
    except NotTrusted as error:
        hint = f"to trust it all the same: --allow {repo}, or --trust-remote-code for everything"
        raise NotTrusted(error.problem, where=error.where, hint=hint) from error


class Wish(Protocol):
    """What names a version or a revision."""

    @property
    def version(self) -> int | None:
        """The version."""

    @property
    def revision(self) -> str | None:
        """The branch, tag or commit."""


def wish_of(wanted: Wish) -> str:
    """Name the version or the revision that is asked for; empty where neither is known."""
    if wanted.version is not None:
        return f"version {wanted.version}"
    return f"revision {wanted.revision}" if wanted.revision is not None else ""


def find_cycles(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Return the kernels that load each other, as circles that begin and end with the same one."""
    circles = {_circle(graph, start) for start in graph} - {()}
    return tuple(sorted(tuple(map(_name, it)) for it in circles))


def _circle(graph: Graph, start: KernelDependency) -> tuple[KernelDependency, ...]:
    """Return the shortest way from ``start`` back to it, turned to its least kernel."""
    ways: list[tuple[KernelDependency, ...]] = [(start,)]
    seen: set[KernelDependency] = set()
    for way in ways:  # grows while it is read: breadth first
        for each in sorted(graph.get(way[-1], ()), key=_sort_key):
            if each == start:
                at = way.index(min(way, key=_sort_key))
                return (*way[at:], *way[:at], way[at])
            if each not in seen:
                seen.add(each)
                ways.append((*way, each))
    return ()


def _sort_key(it: KernelDependency) -> tuple[str, bool, int, str]:
    return str(it.repo_id), it.version is None, it.version or 0, it.revision or ""


def _name(it: KernelDependency) -> str:
    return f"{it.repo_id} {wish_of(it)}"


def compare(old: Lockfile, new: Lockfile) -> tuple[Change, ...]:
    """Say how ``old`` differs from ``new``, in the order of the file; nothing when it does not."""
    return tuple(sorted(_changes(old, new), key=lambda it: (str(it.repo_id), it.wanted, it.kind)))


def _changes(old: Lockfile, new: Lockfile) -> Iterator[Change]:
    before, after = _by_wish(old), _by_wish(new)
    for key, kernel in after.items():
        repo, wish = kernel.repo_id, wish_of(kernel)
        if key in before and before[key].commit != kernel.commit:
            commits = {"before": before[key].commit, "after": kernel.commit}
            yield Change(kind="moved", repo_id=repo, wanted=wish, **commits)
        elif key not in before:
            yield Change(kind="added", repo_id=repo, wanted=wish, after=kernel.commit)
    for key, kernel in before.items():
        if kernel.dependency is None:
            yield Change(kind="format", repo_id=kernel.repo_id, wanted="")
        elif key not in after:
            gone = {"wanted": wish_of(kernel), "before": kernel.commit}
            yield Change(kind="removed", repo_id=kernel.repo_id, **gone)


def _by_wish(lockfile: Lockfile) -> Mapping[tuple[RepoId, str], LockedKernel]:
    return {(it.repo_id, wish_of(it)): it for it in lockfile.kernels}


def keep_nix_hashes(new: Lockfile, old: Lockfile) -> Lockfile:
    """Return ``new`` with the hashes that Nix wrote into ``old`` for the same commits."""
    hashes = {(it.repo_id, it.commit): it.nix_hash for it in old.kernels}
    kernels = (replace(it, nix_hash=hashes.get((it.repo_id, it.commit))) for it in new.kernels)
    return Lockfile(kernels=tuple(kernels))


def find_lockfile(place: Path) -> Path:
    """Return the lock file that ``place`` is, or holds.

    Raises:
        NoLockfile: there is none.
    """
    path = place if place.is_file() else place / FILE_NAME
    if not path.is_file():
        raise NoLockfile(
            f"No {FILE_NAME} file found in: {place}",
            hint=f"write one: kernels lock {place}",
        )
    return path


def read_lockfile(path: Path) -> Lockfile:
    """Read a lock file of either format.

    Raises:
        LockfileError: it cannot be read.
    """
    try:
        return lock_format.parse(path.read_text(encoding="utf-8"), where=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise LockfileError(
            f"cannot be read: {error}", where=str(path), hint="run `kernels lock` again"
        ) from error


def write_lockfile(path: Path, lockfile: Lockfile) -> None:
    """Write today's format, all at once."""
    try:
        write_whole(path, lock_format.dumps(lockfile), scratch=path.parent)
    except OSError as error:
        raise CacheUnusable(
            f"cannot be written: {error.strerror}",
            where=str(path),
            hint="make the folder writable",
        ) from error


class EggInfo(Protocol):
    """The part of setuptools' command that a writer of metadata uses."""

    def write_or_delete_file(self, what: str, filename: str, data: str, force: bool = ...) -> None:
        """Write a file of the metadata, or remove it where there is nothing to write."""


def write_egg_lockfile(cmd: EggInfo, basename: str, filename: str) -> None:
    """Put a package's ``kernels.lock`` into its metadata, where ``get_locked_kernel`` looks.

    For setuptools, as an ``egg_info.writers`` entry point. It runs in the project's folder, for
    every project: those without kernels are left alone.
    """
    path = Path(os.curdir) / FILE_NAME
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        content = ""
    else:
        lock_format.parse(content, where=str(path))  # a damaged one is found now, not by users
    cmd.write_or_delete_file(basename, filename, content)
