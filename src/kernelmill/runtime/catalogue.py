"""The metadata of all of a kernel's builds, on a Hub or in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.runtime.fetch import fetch_metadata
from kernelmill.runtime.load import read_metadata
from kernelmill.runtime.selection import builds_folder
from kernelmill.runtime.session import open_session
from kernelmill.spec.names import RepoId
from kernelmill.spec.resolve import no_variant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.metadata import Metadata


def read_remote_builds(
    repo_id: str, version: int | None, revision: str | None
) -> tuple[str, list[Metadata]]:
    """Return a commit and the metadata of its builds.

    Raises:
        NoVariant: it has none.
    """
    session = open_session()
    repo = RepoId.parse(repo_id)
    selection = session.look_up(repo, version=version, revision=revision)
    commit = selection.choice.commit
    builds = [
        fetch_metadata(
            session.hub, session.cache, repo, commit=commit, variant=str(decision.variant)
        )
        for decision in selection.resolution.trace
    ]
    if not builds:
        raise no_variant(
            selection.resolution, repo=repo_id, revision=selection.choice.name, host=session.host
        )
    return commit, builds


def read_local_builds(path: Path) -> list[Metadata]:
    """Return the metadata of the builds under ``path``; it may also be one build.

    Raises:
        MetadataError: there is none.
    """
    if (path / "metadata.json").is_file():
        return [read_metadata(path)]
    found = sorted(each.parent for each in builds_folder(path).glob("*/metadata.json"))
    return [read_metadata(each) for each in found] or [read_metadata(path)]
