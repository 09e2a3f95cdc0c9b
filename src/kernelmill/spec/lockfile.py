"""``kernels.lock``: the commit of every kernel a program loads. Reads both formats, writes one.

========  ==========================================================================
today     ``[{"dependency": {"repo-id", "version" | "revision"}, "lock": {"commit"}}]``;
          Nix adds ``"hash"`` to ``lock``
until     ``[{"repo_id", "sha", "variants": {<name>: {"hash", "hash_type"}}}]``, where a hash
0.16      covers the names and the contents of one build's files
========  ==========================================================================
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelmill.spec.dependencies import KernelDependency, kernel_dependency
from kernelmill.spec.errors import InputError, LockfileError
from kernelmill.spec.names import RepoId
from kernelmill.spec.reader import Convert, Faults, Place, each, parsed, table, text, unique_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE_NAME: Final = "kernels.lock"
MAX_BYTES: Final = 16 * 1024 * 1024
"""Room for tens of thousands of kernels."""

_OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NIX_HASH: Final = re.compile(r"sha256-[A-Za-z0-9+/]{43}=")
_OLD_HASH: Final = re.compile(r"sha256-[0-9a-f]{64}")
_OLD_HASH_TYPE: Final = "git_lfs_concat"
_NOBODY: Final = RepoId(namespace="", name="")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedKernel:
    """One kernel of a lock file."""

    repo_id: RepoId
    version: int | None = None
    revision: str | None = None
    """Neither is known to the old format."""
    commit: str
    nix_hash: str | None = None
    """Of the snapshot, as Nix writes it; only where Nix wrote the file."""
    variant_hashes: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Variant -> ``sha256-<hex>``; only in the old format. See ``hash_variant``."""

    @property
    def dependency(self) -> KernelDependency | None:
        """What was locked; None in the old format, which does not say."""
        if self.version is None and self.revision is None:
            return None
        return KernelDependency(repo_id=self.repo_id, version=self.version, revision=self.revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lockfile:
    """A whole lock file."""

    kernels: tuple[LockedKernel, ...] = ()

    def find(
        self, repo_id: RepoId, *, version: int | None = None, revision: str | None = None
    ) -> LockedKernel | None:
        """Return what ``repo_id`` is locked to; None when it is not in the file.

        A caller who names neither a version nor a revision means the only entry of the
        repository. The old format has one entry per repository, which is meant by every caller.

        Raises:
            LockfileError: there are several, and the caller does not say which.
        """
        entries = [it for it in self.kernels if it.repo_id == repo_id]
        for it in entries:
            if it.dependency is None or (it.version, it.revision) == (version, revision):
                return it
        if version is not None or revision is not None:
            return None
        if len(entries) > 1:
            wanted = ", ".join(_label(it) for it in entries)
            raise LockfileError(
                f"'{repo_id}' is locked more than once: {wanted}",
                hint="say which one: give its version or revision",
            )
        return entries[0] if entries else None


def _label(kernel: LockedKernel) -> str:
    return f"version {kernel.version}" if kernel.version is not None else f"{kernel.revision}"


def parse(content: str, *, where: str = FILE_NAME) -> Lockfile:
    """Read a lock file of either format.

    Raises:
        LockfileError: it is neither; says where the first mistake is.
    """
    try:
        raw = json.loads(content, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise LockfileError(
            f"Cannot parse KernelLocks: {error}", where=where, hint="run `kernels lock` again"
        ) from error
    faults = Faults(file=where, lines={})
    place = Place(path=(), faults=faults)
    is_old = isinstance(raw, list) and bool(raw) and isinstance(raw[0], dict) and "sha" in raw[0]
    convert: Convert[LockedKernel] = _old_kernel if is_old else _kernel
    try:
        kernels = each(convert, key=_identity)(raw, place)
    except InputError as error:
        kernels = ()
        faults.record((), error)
    if faults.found:
        first = faults.found[0]
        raise LockfileError(
            f"Cannot parse KernelLocks: {first.problem}",
            where=first.where or where,
            hint=first.hint or "run `kernels lock` again",
        )
    return Lockfile(kernels=tuple(sorted(kernels, key=_order)))


def dumps(lockfile: Lockfile) -> str:
    """Write today's format: sorted, two spaces, and no newline at the end, as others write it.

    Raises:
        LockfileError: an entry came from the old format, which does not say what was locked.
    """
    entries = []
    for it in sorted(lockfile.kernels, key=_order):
        if it.dependency is None:
            raise LockfileError(
                f"'{it.repo_id}' comes from the old lock format, which names no version",
                hint="run `kernels lock` again",
            )
        wanted = {"revision": it.revision} if it.version is None else {"version": it.version}
        lock = {"commit": it.commit} | ({"hash": it.nix_hash} if it.nix_hash else {})
        entries.append({"dependency": {"repo-id": str(it.repo_id), **wanted}, "lock": lock})
    return json.dumps(entries, indent=2, ensure_ascii=False)


def hash_variant(files: Iterable[tuple[str, str]]) -> str:
    """Return the hash that the old format keeps for one build.

    Args:
        files: (path relative to the variant's folder, hash in hexadecimal digits: SHA-256 of a
            large file, git's blob id of another). Bytecode does not count.
    """
    pairs = sorted(
        (path.encode(), bytes.fromhex(digest))
        for path, digest in files
        if not (path.endswith(".pyc") or "__pycache__" in path.split("/"))
    )
    total = hashlib.sha256()
    for name, digest_bytes in pairs:
        total.update(name)
        total.update(digest_bytes)
    return f"sha256-{total.hexdigest()}"


def _kernel(value: object, place: Place) -> LockedKernel:
    item = table(value, place)
    nothing = KernelDependency(repo_id=_NOBODY, version=0)
    dependency = item.required("dependency", kernel_dependency, stand_in=nothing)
    no_lock: tuple[str, str | None] = ("", None)
    commit, nix_hash = item.required("lock", _lock, stand_in=no_lock)
    item.reject_unknown()
    return LockedKernel(
        repo_id=dependency.repo_id,
        version=dependency.version,
        revision=dependency.revision,
        commit=commit,
        nix_hash=nix_hash,
    )


def _lock(value: object, place: Place) -> tuple[str, str | None]:
    item = table(value, place)
    commit = item.required("commit", _object_id, stand_in="")
    nix_hash = item.optional("hash", _matching(_NIX_HASH, "a Nix hash"), default=None)
    item.reject_unknown()
    return commit, nix_hash


def _old_kernel(value: object, place: Place) -> LockedKernel:
    item = table(value, place)
    kernel = LockedKernel(
        repo_id=item.required("repo_id", parsed(RepoId.parse), stand_in=_NOBODY),
        commit=item.required("sha", _object_id, stand_in=""),
        variant_hashes=item.required("variants", _old_variants, stand_in={}),
    )
    item.reject_unknown()
    return kernel


def _old_variants(value: object, place: Place) -> dict[str, str]:
    item = table(value, place)
    return {name: item.required(name, _old_hash, stand_in="") for name in sorted(item)}


def _old_hash(value: object, place: Place) -> str:
    item = table(value, place)
    kind = item.required("hash_type", text, stand_in=_OLD_HASH_TYPE)
    if kind != _OLD_HASH_TYPE:
        raise place.fail(f"unknown hash_type {kind!r}", f"known: {_OLD_HASH_TYPE}")
    digest = item.required("hash", _matching(_OLD_HASH, "sha256- and 64 hex digits"), stand_in="")
    item.reject_unknown()
    return digest


def _object_id(value: object, place: Place) -> str:
    commit = text(value, place).lower()
    if not _OBJECT_ID.fullmatch(commit):
        raise place.fail(
            f"Invalid git object id, expected 40 or 64 hexadecimal digits: {commit}",
            "run `kernels lock` again",
        )
    return commit


def _matching(pattern: re.Pattern[str], what: str) -> Convert[str]:
    def read(value: object, place: Place) -> str:
        word = text(value, place)
        if not pattern.fullmatch(word):
            raise place.fail(f"{word!r} is not {what}")
        return word

    return read


def _identity(kernel: LockedKernel) -> object:
    return str(kernel.repo_id), kernel.version, kernel.revision


def _order(kernel: LockedKernel) -> tuple[str, bool, int, str]:
    return str(kernel.repo_id), kernel.version is None, kernel.version or 0, kernel.revision or ""
