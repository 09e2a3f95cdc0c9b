"""The kernels of this process, with their metadata in the shape of the original's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.runtime import loaded
from kernelmill.runtime.upstream.metadata import Metadata

if TYPE_CHECKING:
    from types import ModuleType

    from kernelmill.runtime.loaded import RepoInfo


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel that is loaded in this process."""

    metadata: Metadata
    module: ModuleType
    repo_info: RepoInfo | None


def get_loaded_kernels() -> list[LoadedKernel]:
    """Return every kernel loaded in this process, in the order of loading."""
    return [
        LoadedKernel(Metadata.from_spec(it.metadata), it.module, it.repo_info)
        for it in loaded.get_loaded_kernels()
    ]
