"""What a build sees: its root folder and what is mounted there. Pure values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

USER: Final = 1000
"""The number that the build's user and group have inside."""
HOST_NAME: Final = "build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder or file of this machine, and where it is inside."""

    source: Path
    target: str
    is_writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One program with its surroundings."""

    root: Path
    """Becomes ``/``, read only."""
    empty: tuple[str, ...]
    """Folders of the root that become empty and writable, in memory."""
    mounts: tuple[Mount, ...]
    """In order; their places are in the root or below one of ``empty``."""
    environment: Mapping[str, str]
    """The whole of it."""
    folder: str
    """Where the program starts."""
    command: tuple[str, ...]
