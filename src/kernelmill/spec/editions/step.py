"""One step from an edition of ``build.toml`` to the next, while it is worked out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelmill.spec.editions.edits import origin
from kernelmill.spec.reader import Place, attempt
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.spec.editions.edits import Edit
    from kernelmill.spec.reader import Convert, Faults

T = TypeVar("T")
Keys = Mapping[tuple[str, ...], tuple[str, ...]]
"""Path of a table -> the keys it may hold; ``("kernel", "*")`` is each kernel's."""

UNKNOWN_LICENSE: Final = "LicenseRef-unknown"
"""Stands in where a kernel names no license: an SPDX expression that says just that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenseHint:
    """A license that a kernel's manifest does not name."""

    expression: str
    """SPDX expression."""
    source: str
    """What it was taken from, such as ``LICENSE``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is known of the document, and what was decided about it so far."""

    document: Mapping[str, Any]
    faults: Faults
    done: tuple[Edit, ...]
    """The edits that led from the file to ``document``."""
    license_hint: LicenseHint | None = None
    edits: list[Edit] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    _lacking: list[str] = field(default_factory=list)

    @property
    def lacks_license(self) -> bool:
        """Whether no license is known."""
        return bool(self._lacking)

    def lack_license(self) -> None:
        """Note that no license is known."""
        self._lacking.append("license")

    def table(self, *path: str) -> Mapping[str, Any]:
        """Return a table of the document; an empty one where there is none."""
        return table_at(self.document, *path)

    def kernels(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield name and table of each kernel."""
        for name, value in self.table("kernel").items():
            if isinstance(value, Mapping):
                yield name, value

    def read(self, path: tuple[str, ...], convert: Convert[T], *, stand_in: T) -> T:
        """Read the value at ``path``, which is there; record a mistake and give ``stand_in``."""
        place = Place(path=origin(path, self.done), faults=self.faults)
        return attempt(convert, self.table(*path[:-1])[path[-1]], place, stand_in)

    def fail(self, path: tuple[str, ...], problem: str, hint: str) -> None:
        """Record a mistake where the file has what is now at ``path``."""
        self.faults.add(origin(path, self.done), problem, hint)


def table_at(document: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """Return the table at ``path``; an empty one where there is none."""
    table: object = document
    for key in path:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}
