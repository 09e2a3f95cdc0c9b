"""What a kernel's repository on disk has to publish. Reads; sends nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.runtime.integrity import check_integrity
from kernelmill.runtime.load import read_metadata
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec import manifest as manifest_format
from kernelmill.spec.errors import InputError, PublicationError
from kernelmill.spec.publication import BuiltVariant, Publication, RepoType, plan_publication

if TYPE_CHECKING:
    from kernelmill.spec.manifest import Manifest

CARDS = (f"{BUILD_FOLDER}/CARD.md", "CARD.md")
"""Where the card may be: the one that a build filled in comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The publishable part of a folder."""

    folder: Path
    manifest: Manifest | None
    variants: tuple[BuiltVariant, ...]
    card: str | None
    benchmarks: tuple[str, ...]


def read_draft(folder: Path) -> Draft:
    """Return what ``folder`` has to publish.

    Raises:
        ManifestError: ``build.toml`` is wrong.
        MetadataError: a build's metadata is wrong.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder '{folder}'", hint="give a kernel's repository")
    builds = folder / BUILD_FOLDER
    names = sorted(each.name for each in builds.iterdir()) if builds.is_dir() else []
    return Draft(
        folder=folder,
        manifest=_read_manifest(folder),
        variants=tuple(
            _read_variant(builds / name)
            for name in names
            if (builds / name).is_dir() and not name.startswith(".")
        ),
        card=next((card for card in CARDS if (folder / card).is_file()), None),
        benchmarks=tuple(
            sorted(
                path.relative_to(folder).as_posix()
                for path in folder.glob("benchmarks/benchmark*.py")
            )
        ),
    )


def plan_upload(
    draft: Draft, *, repo_id: str | None, branch: str | None, repo_type: RepoType
) -> Publication:
    """Decide what goes where, and refuse what no loader would take.

    Raises:
        PublicationError: gives every reason.
    """
    plan = plan_publication(
        variants=draft.variants,
        card=draft.card,
        benchmarks=draft.benchmarks,
        repo_id=repo_id,
        branch=branch,
        hub_target=draft.manifest.general.hub if draft.manifest else None,
        repo_type=repo_type,
    )
    problems = [*_stale_builds(draft), *_changed_builds(draft)]
    if problems:
        raise PublicationError(
            "; ".join(problems), where=str(draft.folder), hint="build again, then upload"
        )
    return plan


def _stale_builds(draft: Draft) -> list[str]:
    if draft.manifest is None:
        return []
    version = draft.manifest.general.version
    return [
        f"{variant.path} is version {variant.metadata.version}, build.toml is version {version}"
        for variant in draft.variants
        if variant.metadata and variant.metadata.version != version
    ]


def _changed_builds(draft: Draft) -> list[str]:
    problems = []
    for variant in draft.variants:
        folder = draft.folder / variant.path
        digest = variant.metadata.digest if variant.metadata else None
        found = check_integrity(folder, digest, root=folder)
        problems += [f"{variant.path}: {finding}" for finding in found]
    return problems


def _read_manifest(folder: Path) -> Manifest | None:
    path = folder / "build.toml"
    if not path.is_file():
        return None
    return manifest_format.parse(path.read_text(encoding="utf-8"), where=str(path))


def _read_variant(folder: Path) -> BuiltVariant:
    files, links = [], []
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            file = path.relative_to(folder).as_posix()
            files.append(file)
            if not path.resolve().is_relative_to(folder.resolve()):
                links.append(file)
    return BuiltVariant(
        folder=folder.name,
        metadata=read_metadata(folder) if "metadata.json" in files else None,
        files=tuple(sorted(files)),
        links=tuple(sorted(links)),
    )
