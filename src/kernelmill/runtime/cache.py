"""The folder of fetched kernels, in huggingface_hub's layout, one per Hub.

``kernels--ns--name/`` holds ``blobs/``, ``snapshots/<commit>/`` and ``refs/<name>``: the commit of
a branch or tag whose build was last fetched. What the Hub said besides is in ``records``.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import CacheUnusable
from kernelmill.runtime.file_lock import locked
from kernelmill.runtime.files import read_text
from kernelmill.runtime.revisions import COMMIT, is_revision
from kernelmill.spec.names import RepoId
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_REF_BYTES: Final = 1024
HINT: Final = "set KERNELS_CACHE to a folder that can be written"
PREFIXES: Final = ("kernels", "models")
"""What huggingface_hub's folders begin with. Kernels were models once, and old caches are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Kernels that were fetched from one Hub."""

    root: Path

    def repo_folder(self, repo: RepoId, prefix: str = PREFIXES[0]) -> Path:
        """Return the folder of one repository."""
        return self.root / f"{prefix}--{repo.namespace}--{repo.name}"

    def snapshot(self, repo: RepoId, commit: str) -> Path:
        """Return the folder that mirrors the repository at ``commit``, or would."""
        ours = self.repo_folder(repo) / "snapshots" / commit
        if ours.is_dir():
            return ours
        old = self.repo_folder(repo, PREFIXES[1]) / "snapshots" / commit
        return old if old.is_dir() else ours

    def repositories(self) -> tuple[str, ...]:
        """Return the ids of the repositories of which something is here."""
        folders = self.root.glob(f"{PREFIXES[0]}--*--*/refs")
        names = ("/".join(each.parent.name.split("--")[1:]) for each in folders)
        return tuple(sorted(name for name in names if RepoId.is_valid(name)))

    @contextmanager
    def lock(self, repo: RepoId, name: str = "kernelmill", timeout_s: float = -1) -> Iterator[None]:
        """Hold a lock of the repository, in this process and before all others.

        The lock file stays: removing it would leave two processes with two different locks.

        Args:
            repo: the repository.
            name: which of its locks; files are fetched under the default.
            timeout_s: how long to wait for it; for ever by default.

        Raises:
            TimeoutError: somebody else held it for so long.
            CacheUnusable: the cache cannot be written.
        """
        folder = self.root / ".locks" / self.repo_folder(repo).name
        path = folder / f"{name}.lock"
        with writing(path):
            folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(path, timeout_s))
            except TimeoutError:
                raise
            except OSError as error:  # no right to it, no room for it, or its folder went away
                raise _unwritable(error, path) from error
            yield

    def read_refs(self, repo: RepoId) -> dict[str, str]:
        """Return the branches and tags of which a build was fetched: name -> commit."""
        found: dict[str, str] = {}
        for prefix in reversed(PREFIXES):
            folder = self.repo_folder(repo, prefix) / "refs"
            for path in folder.rglob("*"):
                if path.is_file():
                    found[path.relative_to(folder).as_posix()] = _read_commit(path)
        return {name: commit for name, commit in found.items() if commit}

    def read_ref(self, repo: RepoId, name: str) -> str:
        """Return the commit of a branch or tag of which a build was fetched; else nothing."""
        if not is_revision(name):
            return ""
        paths = (self.repo_folder(repo, prefix) / "refs" / name for prefix in PREFIXES)
        return next(filter(None, map(_read_commit, paths)), "")

    def remember_ref(self, repo: RepoId, name: str, commit: str) -> None:
        """Note that ``name`` is ``commit``, for the day there is no network."""
        path = self.repo_folder(repo) / "refs" / name
        if not is_revision(name) or _read_commit(path) == commit:
            return
        # The note is a convenience: a cache may be read-only, and "a" and "a/b" exclude each other.
        with suppress(OSError):
            write_whole(path, commit, scratch=self.repo_folder(repo))


def _read_commit(path: Path) -> str:
    try:
        text = read_text(path, limit_bytes=MAX_REF_BYTES).strip()
    except (OSError, ValueError):
        return ""
    return text if COMMIT.fullmatch(text) else ""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say which place could not be written, where the block fails to."""
    try:
        yield
    except OSError as error:
        raise _unwritable(error, path) from error


def _unwritable(error: OSError, path: Path) -> CacheUnusable:
    return CacheUnusable(
        f"cannot write the cache: {error.strerror or error}",
        where=str(error.filename or path),
        hint=HINT,
    )


def write_whole(path: Path, text: str, *, scratch: Path) -> None:
    """Write a text file that others see either not at all or complete.

    Args:
        path: the file.
        text: what it is to hold.
        scratch: a folder on the same file system, for the file while it is incomplete. Not the
            file's own where others take every file for an answer, as in ``refs``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = scratch / f".{os.urandom(8).hex()}.incomplete"
    # Not tempfile's, which are private: the umask says who may read a shared cache.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)  # noqa: PTH105 - a rename over an existing file
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def links_root(folder: Path) -> Path:
    """Return the folder that the links of a kernel, or of a build, may not leave.

    It is its own, or huggingface_hub's cache for a snapshot there, whose files are links.
    """
    folder = folder.resolve()
    for parent in folder.parents:
        name = parent.parent.name
        if parent.name == "snapshots" and name.partition("--")[0] in PREFIXES and "--" in name:
            return parent.parent.parent
    return folder
