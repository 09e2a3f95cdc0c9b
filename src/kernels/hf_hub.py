"""Where on a Hub a kernel came from."""

from kernelmill.runtime.load import RepoInfo

__all__ = ["RepoInfo"]
