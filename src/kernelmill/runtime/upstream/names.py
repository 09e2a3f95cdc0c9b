"""Kernel names and version numbers, as ``kernels._rust`` has them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

from kernelmill.spec.errors import InvalidName, InvalidVersion

_KERNEL_NAME: Final = re.compile(r"[a-z][-a-z0-9]*[a-z0-9]")
_RULES: Final = (
    "Start with a lowercase letter (a-z)",
    "Contain only lowercase letters, digits, and dashes",
    "End with a lowercase letter or digit",
    "Be at least 2 characters long",
)
_EXAMPLES: Final = "`my-kernel`, `relu2d`, `flash-attention`"
_NUMBER: Final = re.compile(r"\+?[0-9]+", re.ASCII)
_MAX_NUMBER: Final = 2**64 - 1


@dataclass(frozen=True, slots=True, repr=False)
class KernelName:
    """A kernel's name. Two dashes in a row are allowed here: old kernels have them.

    Raises:
        InvalidName: the name breaks the rules; a ``ValueError``.
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"argument 'name': {type(self.name).__name__!r} object is no string")
        if not _KERNEL_NAME.fullmatch(self.name):
            rules = "\n- ".join((f"Invalid kernel name `{self.name}`. Name must:", *_RULES))
            raise InvalidName(f"{rules}\nExamples: {_EXAMPLES}")

    @property
    def python_name(self) -> str:
        """The name of the Python module: dashes become underscores."""
        return self.name.replace("-", "_")

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"KernelName({self.name!r})"


@functools.total_ordering
class Version:
    """A version of numbers alone; zeros at its end do not count when versions are compared."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers

    @staticmethod
    def from_str(s: str) -> Version:
        """Read ``1``, ``1.2``, ``1.2.0``, ...

        Raises:
            InvalidVersion: the text is empty, or holds something else; a ``ValueError``.
        """
        words = s.strip().split(".")
        if words == [""]:
            raise InvalidVersion(f"Cannot parse version `{s}`: empty version string")
        if not all(_NUMBER.fullmatch(word) and int(word) <= _MAX_NUMBER for word in words):
            raise InvalidVersion(f"Cannot parse version `{s}`: version must consist of numbers")
        return Version(tuple(map(int, words)))

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))

    def __repr__(self) -> str:
        return f"Version('{self}')"

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, Version) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[int, ...]:
        numbers = list(self.numbers)
        while numbers and not numbers[-1]:
            numbers.pop()
        return tuple(numbers)
