"""Lock kernels: find the commit of everything that a project loads, and say what moved.

Every build of every kernel is looked at, since the project may run on another machine than this.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kernelmill.runtime.cache import write_whole
from kernelmill.runtime.errors import CacheUnusable, NoLockfile, NotTrusted
from kernelmill.runtime.locking_catalogue import fetch_dependencies
from kernelmill.runtime.locking_changes import wish_of
from kernelmill.runtime.revisions import choose_revision
from kernelmill.runtime.trust import ensure_trusted
from kernelmill.spec import lockfile as lock_format
from kernelmill.spec.errors import InputError, LockfileError
from kernelmill.spec.lockfile import FILE_NAME, LockedKernel, Lockfile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.settings import Settings
    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.dependencies import KernelDependency
    from kernelmill.spec.names import RepoId

log = logging.getLogger(__name__)

Graph = dict["KernelDependency", tuple["KernelDependency", ...]]
"""Each kernel, with those that any of its builds loads."""


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
        pass_gate(self.hub, repo, self.trust)
        choice = choose_revision(self.hub, repo, version=wanted.version, revision=wanted.revision)
        self._commits[wanted] = choice.commit
        self.report(f"found {repo} {wish_of(wanted)} at {choice.commit}")
        return fetch_dependencies(self.hub, self.cache, repo, choice.commit)


def pass_gate(hub: Hub, repo: RepoId, trust: Trust) -> None:
    """Ask for trust as loading does, with the advice that a command's user can follow.

    Raises:
        NotTrusted: nobody vouches for the publisher, nor allows the repository.
    """
    try:
        ensure_trusted(hub, repo, trust)
    except NotTrusted as error:
        hint = f"to trust it all the same: --allow {repo}, or --trust-remote-code for everything"
        raise NotTrusted(error.problem, where=error.where, hint=hint) from error


def open_live_hub(settings: Settings) -> Hub:
    """Return the Hub itself, without what is remembered of it: a lock says what is true now.

    Raises:
        InputError: there is to be no network.
    """
    if settings.is_offline:
        raise InputError(
            "locking needs the Hub, and the network must not be used",
            where=settings.endpoint,
            hint="unset HF_HUB_OFFLINE",
        )
    from kernelmill.runtime.hub.remote import RemoteHub  # noqa: PLC0415 - costs 0.3 s

    return RemoteHub(settings.endpoint)


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
