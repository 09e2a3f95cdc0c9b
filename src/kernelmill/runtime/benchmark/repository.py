"""The kernel to time and its scripts, from a Hub or from a folder.

Scripts are code that no build's digest covers: they are fetched and run only once their
publisher is trusted, as for loading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.runtime import api
from kernelmill.runtime.benchmark.script import FOLDER, find_scripts

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.session import Session
    from kernelmill.runtime.trust import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A loaded kernel and the scripts that time it."""

    kernel: ModuleType
    root: Path
    scripts: tuple[Path, ...]
    commit: str | None
    """None for a folder."""
    revision: str
    """What was chosen, for people."""


def read_subject(folder: Path, backend: str | None) -> Subject:
    """Load the best build of the kernel repository in ``folder``."""
    scripts = find_scripts(folder, where=str(folder))
    return Subject(
        kernel=api.get_local_kernel(folder, backend=backend),
        root=folder.resolve(),
        scripts=tuple(path.resolve() for path in scripts),
        commit=None,
        revision="",
    )


def fetch_subject(
    session: Session,
    repo_id: str,
    *,
    version: int | None,
    revision: str | None,
    trust_remote_code: Trust,
) -> Subject:
    """Load a kernel from the Hub, and fetch its scripts.

    Raises:
        NotTrusted: the publisher is not trusted.
        InputError: the kernel has no scripts.
    """
    selection = session.find(
        repo_id, version=version, revision=revision, trust_remote_code=trust_remote_code
    )
    repo, commit = selection.repo, selection.choice.commit
    listed = session.hub.fetch_files(repo, commit, FOLDER)
    with session.cache.lock(repo):
        session.hub.download(repo, commit, listed, session.cache.root)
    root = session.cache.snapshot(repo, commit)
    return Subject(
        scripts=find_scripts(root, where=repo_id),
        kernel=api.get_kernel(
            str(repo),
            revision=commit,
            backend=session.host.backend.value,
            trust_remote_code=trust_remote_code,
        ),
        root=root,
        commit=commit,
        revision=selection.choice.name,
    )
