"""What can go wrong while a kernel is found, fetched, checked and loaded.

Each class also is the builtin that Hugging Face's ``kernels`` raises in the same place.
"""

from __future__ import annotations

from kernelmill.spec.errors import HostError, HubError, InputError, KernelError


class NotTrusted(KernelError, ValueError):
    """A repository's publisher is not trusted, and the caller did not allow the repository."""

    exit_code = 1


class NotSigned(KernelError, ValueError):
    """A signature is required, and a kernel has none by anybody who is trusted."""

    exit_code = 1


class VersionNotFound(HubError, ValueError):
    """A repository has no such version."""


class RepositoryNotFound(HubError, OSError):
    """A Hub has no such repository, or hides it from this caller."""


class RevisionNotFound(HubError, OSError):
    """A repository has no such branch, tag or commit."""


class AccessDenied(HubError, PermissionError):
    """A Hub knows the caller's token, or the lack of one, and says no."""


class HubUnreachable(HubError, ConnectionError):
    """A Hub does not answer."""


class CacheUnusable(HostError, OSError):
    """The folder of fetched kernels cannot be read or written."""


class NotCached(HubError, FileNotFoundError):
    """Something is needed from a Hub, is not in the cache, and the network must not be used."""


class KernelClash(KernelError, ValueError):
    """A kernel claims an identity that something else in this process already has."""

    exit_code = 1


class UnsupportedArch(HostError, RuntimeError):
    """A kernel has no machine code for this machine's devices."""


class NotADependency(KernelError, RuntimeError):
    """A kernel asks for another one that its metadata does not name, or asks too late."""

    exit_code = 1


class Unresolved(KernelError, ValueError):
    """A kernel that another one needs is nowhere to be found, or needs itself."""

    exit_code = 1


class BadRedirect(HubError, ValueError):
    """A repository says that it has moved, but following it leads nowhere."""


class NotLocked(InputError):
    """There is no lock file, or it does not hold a kernel."""


class UnsupportedKernel(HostError, RuntimeError):
    """A kernel asks for something that this installation does not offer."""


class MissingDependency(HostError, ImportError):
    """A kernel needs a Python package that is not installed."""


class LoadFailed(HostError, ImportError):
    """A kernel's compiled part cannot be loaded into this process."""


class NoModule(KernelError, FileNotFoundError):
    """A build's folder holds nothing that can be imported."""

    exit_code = 1


class NoLockfile(KernelError, FileNotFoundError):
    """A project has no ``kernels.lock``."""

    exit_code = 1


class BundleError(InputError):
    """A bundle of kernels cannot be made, or cannot be read."""


class UnpinnedKernelWarning(UserWarning):
    """A kernel was asked for without a version, so another day may load other code."""
