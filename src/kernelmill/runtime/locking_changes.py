"""What moved between two lock files, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from kernelmill.spec.lockfile import LockedKernel, Lockfile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelmill.spec.names import RepoId


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
