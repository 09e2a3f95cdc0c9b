"""Where on a Hub a kernel came from."""

from kernelmill.runtime.loaded import (
    RepoInfo,
)

__all__ = [
    "RepoInfo",
]
