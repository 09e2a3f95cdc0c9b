"""Tiny kernels, in pure Python, and a Hub in memory that serves them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelmill.runtime import loaded, modules
from kernelmill.runtime.errors import HubUnreachable, RepositoryNotFound, RevisionNotFound
from kernelmill.runtime.hub import Refs, RemoteFile
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.backend import Backend
from kernelmill.spec.digest import digest_files
from kernelmill.spec.errors import HubError
from kernelmill.spec.metadata import KernelDependency, Metadata, Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kernelmill.spec.names import RepoId

SOURCE = "VALUE = {value!r}\n\n\ndef double(x: int) -> int:\n    return 2 * x\n"


def kernel_files(
    name: str = "toy",
    *,
    value: object = 1,
    version: int = 1,
    sources: Mapping[str, str] | None = None,
    binaries: Mapping[str, bytes] | None = None,
    module_id: str = "",
    archs: tuple[str, ...] | None = None,
    backend: Backend = Backend.CPU,
    python_depends: tuple[str, ...] = (),
    kernel_depends: tuple[KernelDependency, ...] = (),
    provenance: Provenance | None = None,
    minver: str | None = None,
    has_digest: bool = True,
) -> dict[str, bytes]:
    """Return the files of one build: path -> content."""
    texts = {"__init__.py": SOURCE.format(value=value), **(sources or {})}
    files = {path: text.encode() for path, text in texts.items()} | dict(binaries or {})
    unique = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:10]
    metadata = Metadata(
        name=name,
        id=module_id or f"_{name.replace('-', '_')}_{backend}_{unique}",
        version=version,
        kernels_minver=minver,
        license="Apache-2.0",
        python_depends=python_depends,
        kernel_depends=kernel_depends,
        provenance=provenance,
        backend=backend,
        archs=archs,
        digest=digest_files(files.items()) if has_digest else None,
    )
    files["metadata.json"] = metadata_format.dumps(metadata).encode()
    return files


def unload_kernels() -> None:
    """Forget the kernels that this process has loaded."""
    for kernel in loaded.get_loaded_kernels():
        modules.forget(kernel.metadata.id)
    loaded.LOADED.clear()


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files below ``folder`` and return it."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def oid_of(content: bytes) -> str:
    """Return git's id of a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass
class MemoryRepo:
    """A repository: branches, and the files of each commit."""

    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def commit(self, branch: str, files: Mapping[str, bytes]) -> str:
        """Make ``files`` the content of ``branch`` and return the commit."""
        content = repr((branch, len(self.commits), sorted(files.items())))
        sha = hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = dict(files)
        self.branches[branch] = sha
        return sha


@dataclass
class MemoryHub:
    """A Hub that keeps everything in memory, and counts what it is asked."""

    endpoint: str = "http://hub.test"
    is_offline: bool = False
    trusted: set[str] = field(default_factory=lambda: {"acme"})
    organisations: set[str] = field(default_factory=lambda: {"acme", "stranger"})
    repos: dict[str, MemoryRepo] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    is_down: bool = False
    fails_after: int | None = None
    """After how many files of a download the connection breaks."""

    def publish(
        self,
        repo: str,
        branch: str,
        builds: Mapping[str, Mapping[str, bytes]],
        *,
        others: Mapping[str, bytes] | None = None,
    ) -> str:
        """Put builds (variant -> files), and other files beside them, on a branch."""
        files = {
            f"build/{variant}/{path}": content
            for variant, build in builds.items()
            for path, content in build.items()
        } | dict(others or {})
        return self.repos.setdefault(repo, MemoryRepo()).commit(branch, files)

    def fetch_trust(self, organisation: str) -> bool | None:
        self._answer("trust")
        return organisation in self.trusted if organisation in self.organisations else None

    def fetch_refs(self, repo: RepoId, wanted: str = "") -> Refs:  # noqa: ARG002 - all are given
        self._answer("refs")
        return Refs(branches=dict(self._repo(repo).branches), tags={})

    def fetch_commit(self, repo: RepoId, revision: str) -> str:
        self._answer("commit")
        known = self._repo(repo)
        if revision in known.commits:
            return revision
        if revision not in known.branches:
            raise RevisionNotFound(f"'{repo}' has no revision '{revision}'")
        return known.branches[revision]

    def fetch_folders(self, repo: RepoId, commit: str, folder: str) -> tuple[str, ...]:
        self._answer("folders")
        depth = folder.count("/") + 1
        paths = self._below(repo, commit, folder)
        return tuple(sorted({each.split("/")[depth] for each in paths if each.count("/") > depth}))

    def fetch_files(self, repo: RepoId, commit: str, folder: str) -> tuple[RemoteFile, ...]:
        self._answer("files")
        content = self._repo(repo).commits[commit]
        return tuple(
            RemoteFile(path=path, size_bytes=len(content[path]), oid=oid_of(content[path]))
            for path in self._below(repo, commit, folder)
        )

    def download(
        self, repo: RepoId, commit: str, files: Iterable[RemoteFile], cache_dir: Path
    ) -> None:
        content = self._repo(repo).commits[commit]
        folder = cache_dir / f"kernels--{repo.namespace}--{repo.name}"
        for number, path in enumerate(file.path for file in files):
            if number == self.fails_after:
                raise ConnectionResetError("the connection broke")
            link = folder / "snapshots" / commit / path
            blob = folder / "blobs" / oid_of(content[path])
            if link.exists() and len(blob.read_bytes()) >= len(content[path]):
                continue
            self.calls.append(f"download {path}")
            write_files(blob.parent, {blob.name: content[path]})
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(blob)

    def files(self, repo: str, branch: str) -> list[str]:
        """Return the paths on a branch."""
        known = self.repos[repo]
        return sorted(known.commits[known.branches[branch]])

    def _answer(self, question: str) -> None:
        self.calls.append(question)
        if self.is_down:
            raise HubUnreachable("the Hub does not answer (down)", where=self.endpoint)

    def _repo(self, repo: RepoId) -> MemoryRepo:
        if str(repo) not in self.repos:
            raise RepositoryNotFound(f"there is no kernel repository '{repo}'")
        return self.repos[str(repo)]

    def _below(self, repo: RepoId, commit: str, folder: str) -> list[str]:
        files = self._repo(repo).commits[commit]
        return sorted(path for path in files if path.startswith(f"{folder}/" if folder else ""))


@dataclass
class MemoryPublisher:
    """A repository in a Hub in memory, for those who upload."""

    hub: MemoryHub
    repo: RepoId

    @property
    def endpoint(self) -> str:
        return self.hub.endpoint

    def ensure_repo(self, *, is_private: bool) -> None:
        self.hub.calls.append("ensure_private_repo" if is_private else "ensure_repo")
        if str(self.repo) not in self.hub.repos:
            self.hub.repos[str(self.repo)] = MemoryRepo()
            self.hub.repos[str(self.repo)].commit("main", {})

    def fetch_branches(self) -> dict[str, str]:
        return dict(self.hub.repos[str(self.repo)].branches)

    def create_branch(self, branch: str, commit: str) -> None:
        assert branch not in self.hub.repos[str(self.repo)].branches
        self.hub.repos[str(self.repo)].branches[branch] = commit

    def delete_branch(self, branch: str) -> None:
        del self.hub.repos[str(self.repo)].branches[branch]

    def fetch_paths(self, commit: str, folder: str) -> tuple[str, ...]:
        files = self.hub.repos[str(self.repo)].commits[commit]
        return tuple(path for path in files if path.startswith(f"{folder}/"))

    def commit(
        self,
        branch: str,
        *,
        parent: str,
        additions: Mapping[str, Path],
        deletions: Sequence[str],
        message: str,
    ) -> str:
        self.hub.calls.append(f"commit {branch}: {message}")
        if self.hub.fails_after is not None:
            raise HubError("the Hub failed")
        repo = self.hub.repos[str(self.repo)]
        assert repo.branches[branch] == parent, "somebody else committed"
        files = dict(repo.commits[parent])
        for path in deletions:
            del files[path]
        files |= {target: source.read_bytes() for target, source in additions.items()}
        return repo.commit(branch, files)
