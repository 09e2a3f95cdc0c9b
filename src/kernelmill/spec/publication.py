"""What an upload contains and where it goes, decided before any network call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.spec.errors import InvalidVariant, PublicationError
from kernelmill.spec.names import RepoId
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelmill.spec.manifest import HubTarget
    from kernelmill.spec.metadata import Metadata

RepoType = Literal["kernel", "model"]
_NO_BRANCH: Final = re.compile(
    r"[\0-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[/-]|^@$|/$|\.$|(?:^|/)\.|\.lock(?:/|$)"
)
"""What git allows in no branch's name: https://git-scm.com/docs/git-check-ref-format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One file to upload."""

    source: str
    """Path in the kernel's local repository, with ``/``."""
    target: str
    """Path in the repository on the Hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A whole upload."""

    repo_id: RepoId
    repo_type: RepoType
    version_branch: str
    main_files: tuple[Upload, ...]
    """For the branch ``main``: the card."""
    version_files: tuple[Upload, ...]
    """For the version branch: builds and benchmarks."""
    replaced: tuple[str, ...]
    """Folders on the version branch whose other files are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltVariant:
    """One build, as it lies on disk."""

    folder: str
    """The variant's folder: its name when it is in ``build/``, else its path."""
    metadata: Metadata | None
    """``None`` when there is none to read."""
    files: tuple[str, ...]
    """Paths relative to the folder, with ``/``."""
    links: tuple[str, ...] = ()
    """Those of the files that are symbolic links to something outside the folder."""

    @property
    def name(self) -> str:
        """The variant's name."""
        return PurePosixPath(self.folder).name

    @property
    def path(self) -> str:
        """The folder's path in the kernel's repository."""
        return self.folder if "/" in self.folder else f"build/{self.folder}"


def plan_publication(
    *,
    variants: Sequence[BuiltVariant],
    card: str | None,
    benchmarks: Sequence[str],
    repo_id: str | None,
    branch: str | None,
    hub_target: HubTarget | None,
    repo_type: RepoType,
) -> Publication:
    """Decide what goes where.

    Args:
        variants: the builds.
        card: path of the card, which becomes ``README.md``; ``None`` when there is none.
        benchmarks: paths of the benchmark scripts.
        repo_id: the caller's choice; else that of ``hub_target``.
        branch: the caller's choice; else that of ``hub_target``; else ``v<version>``.
        hub_target: ``[general.hub]`` of the manifest.
        repo_type: the kind of repository on the Hub.

    Raises:
        PublicationError: nothing to publish, nowhere to publish to, or a build that no loader
            would take; lists all reasons.
    """
    problems = [problem for it in variants for problem in _problems(it)]
    problems += _problems_of_all(variants)
    if problems:
        raise PublicationError("; ".join(problems), hint="build again, then upload")
    version = next(it.metadata.version for it in variants if it.metadata)
    ordered = sorted(variants, key=lambda it: it.name)
    builds = [upload for it in ordered for upload in _build_uploads(it)]
    return Publication(
        repo_id=_repo_id(repo_id, hub_target),
        repo_type=repo_type,
        version_branch=_branch(branch, hub_target) or f"v{version}",
        main_files=(Upload(source=card, target="README.md"),) if card else (),
        version_files=(
            *builds,
            *(Upload(source=path, target=path) for path in sorted(benchmarks)),
        ),
        replaced=tuple(f"build/{it.name}" for it in ordered),
    )


def _repo_id(repo_id: str | None, hub_target: HubTarget | None) -> RepoId:
    if repo_id:
        return RepoId.parse(repo_id, where="--repo-id")
    if hub_target and hub_target.repo_id:
        return hub_target.repo_id
    # An owner is never guessed: a default once sent uploads to somebody else's organisation.
    raise PublicationError(
        "no repository to upload to",
        hint='pass --repo-id owner/name, or set repo-id = "owner/name" in [general.hub]',
    )


def _branch(asked: str | None, hub_target: HubTarget | None) -> str:
    name = asked or (hub_target and hub_target.branch) or ""
    if _NO_BRANCH.search(name):
        raise PublicationError(
            f"{name!r} cannot be the name of a branch",
            where="--branch" if asked else "[general.hub] branch",
            hint="leave it out: a version's branch is v1, v2, ...",
        )
    return name


def _build_uploads(variant: BuiltVariant) -> Iterator[Upload]:
    for file in sorted(variant.files):
        yield Upload(source=f"{variant.path}/{file}", target=f"build/{variant.name}/{file}")


def _problems_of_all(variants: Sequence[BuiltVariant]) -> Iterator[str]:
    if not variants:
        yield "no build variants to upload"
    versions = sorted({it.metadata.version for it in variants if it.metadata})
    if len(versions) > 1:
        yield f"build variants have different versions: {', '.join(map(str, versions))}"
    names = [it.name for it in variants]
    for name in sorted({it for it in names if names.count(it) > 1}):
        yield f"variant {name!r} was found twice"


def _problems(variant: BuiltVariant) -> Iterator[str]:
    name = variant.name
    try:
        parsed = parse_variant(name)
    except InvalidVariant as error:
        yield f"{variant.path}: {error.problem}"
        return
    if not variant.files:
        yield f"{variant.path}: the folder is empty"
        return
    metadata = variant.metadata
    if metadata is None or "metadata.json" not in variant.files:
        yield f"{variant.path}: no metadata.json"
    elif isinstance(parsed, ArchVariant) and parsed.compute.backend != metadata.backend:
        yield f"{variant.path}: metadata.json is for {metadata.backend}"
    if metadata and not _has_module(variant, metadata.python_name):
        yield f"{variant.path}: no __init__.py to import"
    for file in sorted(variant.files):
        if file.endswith((".pyc", ".pyo")) or "__pycache__" in PurePosixPath(file).parts:
            yield f"{variant.path}: holds bytecode, {file}"
    for link in sorted(variant.links):
        yield f"{variant.path}: {link} is a link to a file outside"


def _has_module(variant: BuiltVariant, python_name: str) -> bool:
    return not {"__init__.py", f"{python_name}/__init__.py"}.isdisjoint(variant.files)
