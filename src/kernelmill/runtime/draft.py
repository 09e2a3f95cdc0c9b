"""What a kernel's repository on disk has to publish. Reads; sends nothing."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.integrity import check_integrity
from kernelmill.runtime.load import read_metadata
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec import manifest as manifest_format
from kernelmill.spec.errors import InputError, PublicationError
from kernelmill.spec.publication import BuiltVariant, Publication, RepoType, plan_publication

if TYPE_CHECKING:
    from kernelmill.spec.manifest import Manifest

CARD: Final = "CARD.md"
PLACES: Final = ("result", BUILD_FOLDER)
"""Where builds are: what Nix links, and what ``kernel-builder build`` writes."""
_UNFILLED: Final = re.compile(
    r"\{\{\s*(repo_id|version|functions|layers|has_benchmark|upstream|source|license)\b|\{%"
)
"""What `kernel-builder fill-card` replaces."""

_OF_CMAKE: Final = frozenset({"CMakeFiles", "Testing", "_deps"})
"""Folders that CMake makes where it works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The publishable part of a folder."""

    folder: Path
    manifest: Manifest | None
    variants: tuple[BuiltVariant, ...]
    card: str | None
    benchmarks: tuple[str, ...]


def read_draft(folder: Path, *, place: str | None = None) -> Draft:
    """Return what ``folder`` has to publish.

    Args:
        folder: the kernel's repository.
        place: the folder of the builds in it; None for the one of ``PLACES`` that has any.

    Raises:
        InputError: there is no such folder, or more than one has builds.
        ManifestError: ``build.toml`` is wrong.
        MetadataError: a build's metadata is wrong.
        PublicationError: the card is a template that nobody filled in, or a link leads out of
            the folder: what is there is not to be published.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder '{folder}'", hint="give a kernel's repository")
    place = place or find_place(folder)
    builds = folder / place
    names = sorted(each.name for each in builds.iterdir()) if builds.is_dir() else []
    if "CMakeCache.txt" in names:
        # `cmake -B build` works in the very folder into which it installs the variants.
        names = [it for it in names if it not in _OF_CMAKE]
    draft = Draft(
        folder=folder,
        manifest=_read_manifest(folder),
        variants=tuple(
            _read_variant(builds / name, name if place == BUILD_FOLDER else f"{place}/{name}")
            for name in names
            if (builds / name).is_dir() and not name.startswith(".")
        ),
        card=_find_card(folder, place),
        benchmarks=tuple(
            sorted(
                path.relative_to(folder).as_posix()
                for path in folder.glob("benchmarks/benchmark*.py")
            )
        ),
    )
    _ensure_own(draft, builds)
    return draft


def _ensure_own(draft: Draft, builds: Path) -> None:
    """Stop here when the card or a benchmark is no file of the folder, or of the builds."""
    homes = (draft.folder.resolve(), builds.resolve())
    for path in (*([draft.card] if draft.card else []), *draft.benchmarks):
        file = (draft.folder / path).resolve()
        if not (file.is_file() and any(map(file.is_relative_to, homes))):
            raise PublicationError(
                "is a link out of the folder, or no file",
                where=str(draft.folder / path),
                hint="put a file in its place",
            )


def find_place(folder: Path) -> str:
    """Return the one of ``PLACES`` that has builds; the last, when none has.

    Raises:
        InputError: more than one has builds: nobody knows which are the newer ones.
    """
    found = [it for it in PLACES if any((folder / it).glob("*/metadata.json"))]
    if len(found) > 1:
        raise InputError(
            f"there are builds in {' and in '.join(found)}",
            where=str(folder),
            hint=f"say which with --builds {found[0]} or --builds {found[1]}",
        )
    return next(iter(found), BUILD_FOLDER)


def _find_card(folder: Path, place: str) -> str | None:
    """Return the card's path: the one that was filled in for these builds comes first."""
    for filled in (f"{place}/{CARD}", f"{BUILD_FOLDER}/{CARD}"):
        if (folder / filled).is_file():
            return filled
    card = folder / CARD
    if not card.is_file() or not card.resolve().is_relative_to(folder.resolve()):
        return CARD if card.is_symlink() else None
    if found := _UNFILLED.search(card.read_text(encoding="utf-8", errors="replace")):
        raise PublicationError(
            f"the card is a template, with '{found[0]}' in it",
            where=str(card),
            hint="fill it in with `kernel-builder fill-card`",
        )
    return CARD


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
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read: {error}", where=str(path), hint="save it as UTF-8 text"
        ) from error
    return manifest_format.parse(text, where=str(path))


def _read_variant(folder: Path, shown: str) -> BuiltVariant:
    files, links = [], []
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            file = path.relative_to(folder).as_posix()
            files.append(file)
            if not path.resolve().is_relative_to(folder.resolve()):
                links.append(file)
    return BuiltVariant(
        folder=shown,
        metadata=read_metadata(folder) if "metadata.json" in files else None,
        files=tuple(sorted(files)),
        links=tuple(sorted(links)),
    )
