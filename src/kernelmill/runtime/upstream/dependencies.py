"""What a kernel or a program asks for: a repository, and a version or a revision of it."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import ClassVar, Final

from kernelmill.runtime.upstream.text import spell_fields
from kernelmill.spec import dependencies as spec
from kernelmill.spec.names import RepoId

_MAX_NUMBER: Final = 2**64 - 1


class KernelVersion:
    """A version or a revision; always one of the two classes below."""

    Version: ClassVar[type[NumberedVersion]]
    Revision: ClassVar[type[NamedRevision]]

    def __new__(cls, *_: object, **__: object) -> KernelVersion:
        """Refuse to make one that is neither."""
        if cls is KernelVersion:
            raise TypeError("cannot create 'KernelVersion' instances")
        return super().__new__(cls)


@dataclass(frozen=True, repr=False)
class NumberedVersion(KernelVersion):
    """The branch ``vN``."""

    version: int

    def __post_init__(self) -> None:
        number = operator.index(self.version)
        if number < 0:
            raise OverflowError("can't convert negative int to unsigned")
        if number > _MAX_NUMBER:
            raise OverflowError("int too big to convert")
        object.__setattr__(self, "version", number)

    def __repr__(self) -> str:
        return spell_fields("KernelVersion.Version", version=self.version)


@dataclass(frozen=True, repr=False)
class NamedRevision(KernelVersion):
    """A branch, a tag or a commit."""

    revision: str

    def __repr__(self) -> str:
        return spell_fields("KernelVersion.Revision", revision=self.revision)


KernelVersion.Version, KernelVersion.Revision = NumberedVersion, NamedRevision
NumberedVersion.__name__, NamedRevision.__name__ = "Version", "Revision"
NumberedVersion.__qualname__ = "KernelVersion.Version"
NamedRevision.__qualname__ = "KernelVersion.Revision"


@dataclass(frozen=True, slots=True, repr=False)
class KernelDependency:
    """A kernel that is asked for. The id is not checked: it may be a folder, in the original."""

    repo_id: str
    version: KernelVersion

    def __post_init__(self) -> None:
        version: object = self.version
        if not isinstance(version, KernelVersion):
            kind = type(version).__name__
            raise TypeError(
                f"argument 'version': '{kind}' object cannot be converted to 'KernelVersion'"
            )

    @staticmethod
    def from_spec(dependency: spec.KernelDependency) -> KernelDependency:
        """Return the same dependency in this shape."""
        return KernelDependency(
            str(dependency.repo_id), version_of(dependency.version, dependency.revision)
        )

    def to_spec(self) -> spec.KernelDependency:
        """Return the same dependency as ``spec`` has it.

        Raises:
            InvalidName: the id is not that of a repository; a ``ValueError``.
        """
        return spec.KernelDependency(
            repo_id=RepoId.parse(self.repo_id), version=self.number, revision=self.revision
        )

    @property
    def number(self) -> int | None:
        """The version, if that is what is asked for."""
        return self.version.version if isinstance(self.version, NumberedVersion) else None

    @property
    def revision(self) -> str | None:
        """The revision, if that is what is asked for."""
        return self.version.revision if isinstance(self.version, NamedRevision) else None

    @property
    def order(self) -> tuple[str, bool, int, str]:
        """Where it stands among others: by repository, and versions before revisions."""
        return self.repo_id, self.number is None, self.number or 0, self.revision or ""

    def __repr__(self) -> str:
        return spell_fields("KernelDependency", repo_id=self.repo_id, version=self.version)


def version_of(version: int | None, revision: str | None) -> KernelVersion:
    """Return the one of the two that is given."""
    return NamedRevision(revision or "") if version is None else NumberedVersion(version)
