"""Digests of builds and how they are compared, as ``kernels._rust`` has them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kernelmill.runtime.integrity import read_digest
from kernelmill.runtime.upstream.text import spell_fields
from kernelmill.spec import digest as spec
from kernelmill.spec.errors import DigestMismatch

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


class DigestAlgorithm(Enum):
    """A hash function. The value is its name in ``spec``."""

    SHA256 = "sha256"
    SHA512 = "sha512"

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"DigestAlgorithm.{self.name}"

    def to_spec(self) -> spec.Algorithm:
        """Return the name that ``spec`` uses."""
        return "sha256" if self is DigestAlgorithm.SHA256 else "sha512"


@dataclass(frozen=True, slots=True, repr=False)
class Digest:
    """The hashes of a build's files, in base64, by path."""

    algorithm: DigestAlgorithm
    files: dict[str, str]

    @staticmethod
    def from_spec(digest: spec.Digest) -> Digest:
        """Return the same digest in this shape."""
        return Digest(DigestAlgorithm(digest.algorithm), dict(sorted(digest.files.items())))

    def to_spec(self) -> spec.Digest:
        """Return the same digest as ``spec`` has it."""
        return spec.Digest(algorithm=self.algorithm.to_spec(), files=self.files)

    @staticmethod
    def hash_variant(algorithm: DigestAlgorithm, variant_path: os.PathLike[str] | str) -> Digest:
        """Hash the files of the build in a folder.

        Raises:
            OSError: the folder, or a file in it, cannot be read.
        """
        folder = Path(variant_path)
        try:
            next(folder.iterdir(), None)
            like = spec.Digest(algorithm=algorithm.to_spec(), files={})
            return Digest.from_spec(read_digest(folder, like))
        except OSError as error:
            problem = f"Failed to hash variant `{folder}`: {error.strerror}"
            raise type(error)(problem) from error

    def validate(self, other: Digest) -> None:
        """Compare this digest, which was promised, with ``other``, which was found.

        Raises:
            DigestValidationError: they differ; ``violations`` says how.
        """
        violations = spec.compare(self.to_spec(), other.to_spec())
        if violations:
            raise DigestValidationError([violation_of(each) for each in violations])

    def __hash__(self) -> int:
        return hash((self.algorithm, tuple(sorted(self.files.items()))))

    def __repr__(self) -> str:
        return spell_fields("Digest", algorithm=self.algorithm, files=self.files)


class DigestViolation:
    """One difference between two digests; always one of the four classes below."""

    MissingFile: ClassVar[type[MissingFile]]
    UnknownFile: ClassVar[type[UnknownFile]]
    HashMismatch: ClassVar[type[HashMismatch]]
    AlgorithmMismatch: ClassVar[type[AlgorithmMismatch]]

    def __new__(cls, *_: object, **__: object) -> DigestViolation:
        """Refuse to make one that is none of the four."""
        if cls is DigestViolation:
            raise TypeError("cannot create 'DigestViolation' instances")
        return super().__new__(cls)

    def to_spec(self) -> spec.Violation:
        """Return the same violation as ``spec`` has it."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.to_spec())


@dataclass(frozen=True)
class MissingFile(DigestViolation):
    """A promised file is not there."""

    path: str

    def to_spec(self) -> spec.Violation:
        """Return the same violation as ``spec`` has it."""
        return spec.Violation(kind="missing", path=self.path, expected="", got="")


@dataclass(frozen=True)
class UnknownFile(DigestViolation):
    """A file is there that was not promised."""

    path: str

    def to_spec(self) -> spec.Violation:
        """Return the same violation as ``spec`` has it."""
        return spec.Violation(kind="unknown", path=self.path, expected="", got="")


@dataclass(frozen=True)
class HashMismatch(DigestViolation):
    """A file is not the one that was promised."""

    path: str
    expected: str
    got: str

    def to_spec(self) -> spec.Violation:
        """Return the same violation as ``spec`` has it."""
        return spec.Violation(kind="mismatch", path=self.path, expected=self.expected, got=self.got)


@dataclass(frozen=True)
class AlgorithmMismatch(DigestViolation):
    """The digests are of two hash functions."""

    expected: DigestAlgorithm
    got: DigestAlgorithm

    def to_spec(self) -> spec.Violation:
        """Return the same violation as ``spec`` has it."""
        return spec.Violation(
            kind="algorithm", path="", expected=str(self.expected), got=str(self.got)
        )


for _kind in (MissingFile, UnknownFile, HashMismatch, AlgorithmMismatch):
    setattr(DigestViolation, _kind.__name__, _kind)
    _kind.__qualname__ = f"DigestViolation.{_kind.__name__}"


def violation_of(violation: spec.Violation) -> DigestViolation:
    """Return a violation of ``spec`` in this shape."""
    path, expected, got = violation.path, violation.expected, violation.got
    match violation.kind:
        case "missing":
            return MissingFile(path)
        case "unknown":
            return UnknownFile(path)
        case "mismatch":
            return HashMismatch(path, expected, got)
        case "algorithm":
            return AlgorithmMismatch(DigestAlgorithm(expected), DigestAlgorithm(got))


class DigestValidationError(DigestMismatch):
    """A build's files are not those that its digest promises."""

    def __init__(self, violations: Sequence[DigestViolation]) -> None:
        lines = ("kernel does not match the expected digest:", *map(str, violations))
        super().__init__("\n".join(lines))
        self.violations = list(violations)
