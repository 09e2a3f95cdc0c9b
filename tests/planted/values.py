"""What a planted bug is, what it is launched with, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Array = np.ndarray[Any, np.dtype[Any]]
Family = Literal["source", "host", "machine code"]

WRONG_RESULT: Final = "wrong-result"
"""The kernel ended, but with other numbers than NumPy computes."""
FAULT: Final = "fault"
"""The emulator stopped the launch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """An argument of several fields."""

    format: str
    """Of ``struct.pack``."""
    fields: tuple[str | int, ...]
    """A ``str`` is the address of a buffer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that one launch needs."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[str | int | Struct, ...]
    """A ``str`` is the address of a buffer."""
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]
    """What buffers should hold afterwards. Those that are no inputs are fresh memory."""
    tolerance: float = 0.0
    """Of a result, relative to the largest element."""
    lds_bytes: int = 0
    """Dynamic LDS."""
    freed: frozenset[str] = frozenset()
    """Buffers that are freed before the launch."""
    fresh: frozenset[str] = frozenset()
    """Inputs whose contents are never copied to the device."""
    missing_bytes: Mapping[str, int] = field(default_factory=dict)
    """Buffers that are allocated too small, and by how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A kernel without bugs, and the launches that try it."""

    name: str
    source: str
    """Path in the project."""
    setups: Mapping[str, Callable[[], Setup]] = field(hash=False)
    """By name; the first is used where a bug names none."""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One change that makes a correct program wrong."""

    program: str
    name: str
    kinds: frozenset[str]
    """Kinds of report that name this bug rightly; one of them has to come."""
    family: Family = "source"
    setups: tuple[str, ...] = ()
    """Launches to try, until one shows it; the program's first by default."""
    edits: tuple[tuple[str, str], ...] = ()
    """Of the source: old text, which occurs once, and new text."""
    word: tuple[int, int] | None = None
    """Of the machine code: an address, and the 32 bits that replace those there."""
    change: Callable[[Setup], Setup] | None = None
    """Of the host's side."""
    equivalent: str = ""
    """Why nothing can be wrong with it, if that is so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a launch of a program showed."""

    kinds: frozenset[str]
    details: tuple[str, ...]
    """The findings, or the error's text."""
    seconds: float
    """Of one core, for the launch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A planted bug, and whether it was found."""

    bug: Bug
    outcome: Outcome

    @property
    def is_right(self) -> bool:
        """Say whether it was reported, with a kind that names it."""
        return bool(self.bug.kinds & self.outcome.kinds)

    @property
    def is_survivor(self) -> bool:
        """Say whether nothing at all was reported."""
        return not self.outcome.kinds
