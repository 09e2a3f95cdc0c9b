"""The kernels that are loaded in this process."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from kernelmill.spec.metadata import Metadata


@dataclasses.dataclass(frozen=True, slots=True)  # also made by position
class RepoInfo:
    """Where on a Hub a kernel came from."""

    repo_id: str
    revision: str
    """The commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedKernel:
    """A kernel that is loaded in this process."""

    metadata: Metadata
    module: ModuleType
    repo_info: RepoInfo | None
    """None for a kernel that was loaded from a folder."""


LOADED: dict[Path, LoadedKernel] = {}
"""The folder of each build -> the kernel. Only ``load`` writes here."""


def get_loaded_kernels() -> list[LoadedKernel]:
    """Return every kernel loaded in this process, one per folder, in the order of loading."""
    return list(LOADED.values())
