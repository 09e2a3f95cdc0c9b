"""The digest of a build: one hash per file, as ``metadata.json`` records it."""

from __future__ import annotations

import base64
import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal, assert_never

from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Algorithm = Literal["sha256", "sha512"]

METADATA_FILE: Final = "metadata.json"
SIGSTORE_FILE: Final = "metadata.json.sigstore"
SIGNATURE_FILE: Final = "metadata.json.sig"

UNCOVERED_FILES: Final = frozenset({METADATA_FILE, SIGSTORE_FILE, SIGNATURE_FILE})
"""The file that holds the digest, and its signatures: none can hold its own hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The hashes of a variant's files."""

    algorithm: Algorithm
    files: Mapping[str, str]
    """Path relative to the variant, with ``/`` -> base64 of the raw hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One difference between the files that were promised and those that are there."""

    kind: Literal["missing", "unknown", "mismatch", "algorithm"]
    path: str
    """Empty for ``algorithm``."""
    expected: str
    got: str

    def __str__(self) -> str:
        match self.kind:
            case "missing":
                return f"Missing file: {self.path}"
            case "unknown":
                return f"Unknown file: {self.path}"
            case "mismatch":
                hashes = f"expected: {self.expected}, got: {self.got}"
                return f"File hash mismatch for {self.path}: {hashes}"
            case "algorithm":
                names = f"expected: {self.expected.upper()}, got: {self.got.upper()}"
                return f"Algorithm mismatch: {names}"
            case _:
                assert_never(self.kind)


def is_covered(path: str) -> bool:
    """Tell whether the digest lists ``path`` (relative to the variant, with ``/``).

    All files are listed, but for the metadata itself, its signatures, and bytecode.
    """
    parts = PurePosixPath(path)
    return not (path in UNCOVERED_FILES or parts.suffix == ".pyc" or "__pycache__" in parts.parts)


def encode(raw: bytes) -> str:
    """Return a hash as a digest writes it."""
    return base64.b64encode(raw).decode("ascii")


def digest_files(files: Iterable[tuple[str, bytes]], *, algorithm: Algorithm = "sha256") -> Digest:
    """Hash the covered ones of ``files``, given as (path, content) in any order."""
    hashes = {
        path: encode(hashlib.new(algorithm, content).digest())
        for path, content in files
        if is_covered(path)
    }
    return Digest(algorithm=algorithm, files=dict(sorted(hashes.items())))


def compare(expected: Digest, actual: Digest) -> tuple[Violation, ...]:
    """List how ``actual`` departs from ``expected``; empty when it does not.

    Order: the algorithm, then the expected files by path, then unknown files by path.
    """
    found: list[Violation] = []
    if expected.algorithm != actual.algorithm:
        names = {"expected": expected.algorithm, "got": actual.algorithm}
        found.append(Violation(kind="algorithm", path="", **names))
    for path, want in sorted(expected.files.items()):
        got = actual.files.get(path)
        if got is None:
            found.append(Violation(kind="missing", path=path, expected=want, got=""))
        elif got != want:
            found.append(Violation(kind="mismatch", path=path, expected=want, got=got))
    found += (
        Violation(kind="unknown", path=path, expected="", got=got)
        for path, got in sorted(actual.files.items())
        if path not in expected.files
    )
    return tuple(found)
