"""The Python files of what a Hub has under a revision: to be read and compared, never imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.runtime.errors import RepositoryNotFound, RevisionNotFound
from kernelmill.runtime.hub.remote import RemoteHub
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.runtime.settings import read_settings
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from pathlib import Path


def fetch_python(repo: str, revision: str, folder: Path) -> Path | None:
    """Fetch the Python files of one build, and return its folder.

    All builds of a version have the same Python, but for what is generated: the first one's are
    fetched.

    Args:
        repo: the repository.
        revision: a branch, a tag or a commit.
        folder: an empty folder.

    Returns:
        The build's folder; None when there is no such repository or revision, or no build in it.
    """
    repo_id = RepoId.parse(repo)
    hub = RemoteHub(read_settings().endpoint)
    try:
        commit = hub.fetch_commit(repo_id, revision)
    except (RepositoryNotFound, RevisionNotFound):
        return None
    files = [it for it in hub.fetch_files(repo_id, commit, BUILD_FOLDER) if it.path.count("/") > 1]
    if not files:
        return None
    build = "/".join(min(it.path for it in files).split("/")[:2])
    wanted = [it for it in files if it.path.startswith(f"{build}/") and it.path.endswith(".py")]
    hub.download(repo_id, commit, wanted, folder)
    return next((it / build for it in folder.glob(f"*/snapshots/{commit}")), None)
