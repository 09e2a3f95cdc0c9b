"""What a Hub said, kept beside what it gave: who is trusted, where branches point, what there is.

Below ``kernels--ns--name/answers/``, ``refs.json`` holds the branches and tags, and
``<commit>/<folder>/`` the ``folders.json`` and ``files.json`` of a folder at a commit, which never
change. ``organisations/<name>.json`` says whether the Hub vouches for a publisher. A record that
cannot be read is as if it were not there, and one that cannot be written is done without.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from kernelmill.runtime.cache import write_whole
from kernelmill.runtime.files import read_text
from kernelmill.runtime.hub import Refs, RemoteFile
from kernelmill.runtime.revisions import COMMIT, is_revision
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path, PurePath

    from kernelmill.runtime.cache import Cache
    from kernelmill.spec.names import RepoId

FORMAT: Final = 1
MAX_BYTES: Final = 256 * 1024 * 1024
"""Room for a hundred thousand files with long names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouch:
    """What a Hub said of a publisher."""

    is_trusted: bool | None
    """None: the Hub knows no such organisation."""
    asked_at: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Where a Hub said that branches and tags point."""

    branches: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    asked_at: float = 0.0
    """When it was asked for all of them; seconds since 1970, 0 for never."""
    revisions: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Those that it was asked for by name: name -> (commit, when)."""

    @property
    def refs(self) -> Refs:
        """The branches and tags, each as it was last heard of."""
        alone = self.branches.keys() - self.tags.keys()
        newest = {name: self.find(name)[0] for name in alone}
        return Refs(branches={**self.branches, **newest}, tags=dict(self.tags))

    def find(self, revision: str) -> tuple[str, float]:
        """Return what was last said of a branch or tag, and when; ``("", 0)`` for nothing."""
        found = [self.revisions.get(revision, ("", 0.0))]
        # Where a branch and a tag share a name, only the Hub knows which one is meant.
        if (revision in self.branches) != (revision in self.tags):
            commit = self.branches.get(revision) or self.tags[revision]
            found.append((commit, self.asked_at))
        return max(found, key=lambda each: each[1])

    def names_of(self, commit: str) -> tuple[str, ...]:
        """Return the branches and tags that were last said to be ``commit``."""
        names = {*self.branches, *self.tags, *self.revisions}
        return tuple(sorted(name for name in names if self.find(name)[0] == commit))


class Records:
    """The answers of one Hub."""

    def __init__(self, cache: Cache, now: Callable[[], float] = time.time) -> None:
        self._cache = cache
        self._now = now

    def read_trust(self, organisation: str) -> Vouch | None:
        """Return the Hub's last word on a publisher; None when it was never asked."""
        document = _read(self._trust_path(organisation))
        match document.get("is_trusted", ...), document.get("asked_at"):
            case (bool() | None) as is_trusted, (int() | float()) as asked_at:
                with suppress(OverflowError):
                    return Vouch(is_trusted=is_trusted, asked_at=float(asked_at))
        return None

    def write_trust(self, organisation: str, is_trusted: bool | None) -> None:
        """Note what the Hub just said of a publisher."""
        document = {"is_trusted": is_trusted, "asked_at": self._now()}
        _write(self._trust_path(organisation), document, scratch=self._cache.root)

    def read_listing(self, repo: RepoId) -> Listing:
        """Return what is known of a repository's branches and tags."""
        document = _read(self._answers(repo) / "refs.json")
        try:
            return Listing(
                branches=_commits(document["branches"]),
                tags=_commits(document["tags"]),
                asked_at=float(document["asked_at"]),
                revisions={
                    name: (commit, float(asked_at))
                    for name, (commit, asked_at) in document["revisions"].items()
                    if COMMIT.fullmatch(commit) and is_revision(name)
                },
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            return Listing()

    def write_refs(self, repo: RepoId, refs: Refs) -> None:
        """Note the branches and tags that the Hub just listed."""
        kept = self.read_listing(repo).revisions
        self._write_listing(repo, refs.branches, refs.tags, self._now(), kept)

    def write_revision(self, repo: RepoId, revision: str, commit: str) -> None:
        """Note the commit that the Hub just gave for one branch or tag."""
        known = self.read_listing(repo)
        revisions = {**known.revisions, revision: (commit, self._now())}
        self._write_listing(repo, known.branches, known.tags, known.asked_at, revisions)

    def forget_listing(self, repo: RepoId) -> None:
        """Take it that nothing is known of the branches and tags any more."""
        with suppress(OSError):
            (self._answers(repo) / "refs.json").unlink(missing_ok=True)

    def _write_listing(
        self,
        repo: RepoId,
        branches: Mapping[str, str],
        tags: Mapping[str, str],
        asked_at: float,
        revisions: Mapping[str, tuple[str, float]],
    ) -> None:
        document = {
            "branches": dict(branches),
            "tags": dict(tags),
            "asked_at": asked_at,
            "revisions": {name: list(each) for name, each in revisions.items()},
        }
        self._write_answer(repo, "refs.json", document)

    def read_folders(self, repo: RepoId, commit: str, folder: str) -> tuple[str, ...] | None:
        """Return the folders in a folder of a commit; None when the Hub was never asked."""
        names = _read(self._answers(repo) / commit / folder / "folders.json").get("folders")
        return tuple(map(str, names)) if isinstance(names, list) else None

    def write_folders(self, repo: RepoId, commit: str, folder: str, names: Iterable[str]) -> None:
        """Note the folders in a folder of a commit."""
        self._write_answer(repo, f"{commit}/{folder}/folders.json", {"folders": list(names)})

    def read_files(self, repo: RepoId, commit: str, folder: str) -> tuple[RemoteFile, ...] | None:
        """Return the files below a folder of a commit; None when the Hub was never asked."""
        rows = _read(self._answers(repo) / commit / folder / "files.json").get("files")
        if not isinstance(rows, list):
            return None
        try:
            return tuple(_file(*row) for row in rows)
        except (TypeError, ValueError):
            return None

    def write_files(
        self, repo: RepoId, commit: str, folder: str, files: Iterable[RemoteFile]
    ) -> None:
        """Note the files below a folder of a commit."""
        rows = [[each.path, each.size_bytes, each.oid, each.sha256] for each in files]
        self._write_answer(repo, f"{commit}/{folder}/files.json", {"files": rows})

    def _write_answer(self, repo: RepoId, name: str, document: Mapping[str, Any]) -> None:
        scratch = self._cache.repo_folder(repo)
        _write(self._answers(repo) / name, document, scratch=scratch)

    def _answers(self, repo: RepoId) -> Path:
        return self._cache.repo_folder(repo) / "answers"

    def _trust_path(self, organisation: str) -> Path:
        return self._cache.root / "organisations" / f"{organisation}.json"


def is_recordable(folder: PurePath) -> bool:
    """Tell whether a folder's path can be that of a record: a Hub may have named it."""
    return not folder.is_absolute() and ".." not in folder.parts and str(folder).isprintable()


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_text(path, limit_bytes=MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    is_known = isinstance(document, dict) and document.get("format") == FORMAT
    return document if is_known else {}


def _write(path: Path, document: Mapping[str, Any], *, scratch: Path) -> None:
    text = json.dumps({"format": FORMAT, **document}, sort_keys=True, separators=(",", ":")) + "\n"
    with suppress(OSError):
        scratch.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, scratch=scratch)


def _commits(names: Mapping[str, str]) -> dict[str, str]:
    return {
        name: commit
        for name, commit in names.items()
        if COMMIT.fullmatch(commit) and is_revision(name)
    }


def _file(path: object, size_bytes: object, oid: object, sha256: object) -> RemoteFile:
    """Return one row of a listing as a file.

    Raises:
        TypeError: it is none.
    """
    match path, size_bytes, oid, sha256:
        case str(), int(), str(), str():
            return RemoteFile(path=path, size_bytes=size_bytes, oid=oid, sha256=sha256)
    raise TypeError(f"{path!r:.80} is no file")
