"""What an upload needs to know before it starts: which builds, to which Hub, told to whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from kernelmill.builder.errors import PlanError, SourceError
from kernelmill.builder.package import METADATA_NAME, OUTPUT_FOLDER
from kernelmill.spec import metadata as metadata_format

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kernelmill.spec.metadata import Metadata

NIX_FOLDER: Final = "result"
"""What ``nix build`` links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody who uploads asks for."""

    repo_id: str | None = None
    branch: str | None = None
    repo_type: str | None = None
    is_private: bool = False
    is_dry_run: bool = False
    is_json: bool = False

    def words(self) -> Iterator[str]:
        """Yield the options of ``kernels upload`` that mean the same."""
        values = {
            "--repo-id": self.repo_id,
            "--branch": self.branch,
            "--repo-type": self.repo_type,
        }
        for option, value in values.items():
            if value:
                yield f"{option}={value}"
        switches = {
            "--private": self.is_private,
            "--dry-run": self.is_dry_run,
            "--json": self.is_json,
        }
        yield from (option for option, is_set in switches.items() if is_set)


def choose_place(root: Path, asked: str | None) -> str:
    """Return the folder of the builds to upload: ``build``, or what Nix linked.

    Raises:
        SourceError: both hold builds, and nobody said which.
    """
    if asked:
        return asked
    places = [it for it in (NIX_FOLDER, OUTPUT_FOLDER) if any((root / it).glob("*/metadata.json"))]
    if len(places) > 1:
        raise SourceError(
            f"there are builds in {' and in '.join(places)}",
            where=str(root),
            hint=f"say which with --builds {places[0]} or --builds {places[1]}",
        )
    return next(iter(places), OUTPUT_FOLDER)


def parse_endpoint(text: str) -> str:
    """Return the address of a Hub, without a slash at its end.

    Raises:
        PlanError: it is none.
    """
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise PlanError(
            f"{text!r} is not the address of a Hub",
            where="--against",
            hint="write it as https://hub.example.org",
        )
    return text.rstrip("/")


def find_dirty(folder: Path) -> tuple[str, ...]:
    """Return the variants in ``folder`` that were built from sources that no commit holds."""
    return tuple(
        name
        for name, known in _metadata_of(folder)
        if known.provenance and known.provenance.kernel.is_dirty
    )


def find_without_digest(folder: Path) -> tuple[str, ...]:
    """Return the variants in ``folder`` whose files nobody who loads them could check."""
    return tuple(name for name, known in _metadata_of(folder) if known.digest is None)


def _metadata_of(folder: Path) -> Iterator[tuple[str, Metadata]]:
    for path in sorted(folder.glob(f"*/{METADATA_NAME}")):
        text = path.read_text(encoding="utf-8")
        yield path.parent.name, metadata_format.parse(text, where=str(path))


def as_upstream_reports(document: Mapping[str, Any]) -> dict[str, object]:
    """Return the report of an upload in the form that upstream's ``--output-json`` has."""
    return {
        "status": document["status"],
        "repo_id": document["repo_id"],
        "branch": document["branch"],
        "url": document.get("url"),
        "pull_requests": [],
    }
