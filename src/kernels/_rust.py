"""The value types that Hugging Face's package compiles; here they are Python."""

from kernelmill import API_VERSION
from kernelmill.runtime.upstream.backends import Backend, BackendInfo
from kernelmill.runtime.upstream.dependencies import KernelDependency, KernelVersion
from kernelmill.runtime.upstream.digests import (
    Digest,
    DigestAlgorithm,
    DigestValidationError,
    DigestViolation,
)
from kernelmill.runtime.upstream.locks import (
    KernelLock,
    KernelLocks,
    KernelPaths,
    NixKernelLock,
    NixKernelLocks,
)
from kernelmill.runtime.upstream.metadata import (
    Build,
    General,
    GitStatus,
    KernelBuilderVersion,
    Metadata,
    Provenance,
)
from kernelmill.runtime.upstream.names import KernelName, Version

__version__ = API_VERSION

__all__ = [
    "Backend",
    "BackendInfo",
    "Build",
    "Digest",
    "DigestAlgorithm",
    "DigestValidationError",
    "DigestViolation",
    "General",
    "GitStatus",
    "KernelBuilderVersion",
    "KernelDependency",
    "KernelLock",
    "KernelLocks",
    "KernelName",
    "KernelPaths",
    "KernelVersion",
    "Metadata",
    "NixKernelLock",
    "NixKernelLocks",
    "Provenance",
    "Version",
    "__version__",
]
