"""The functions that programs call. The package ``kernels`` offers them under the usual names."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.runtime import calls
from kernelmill.runtime.dependencies import get_kernel_dep
from kernelmill.runtime.errors import UnpinnedKernelWarning
from kernelmill.runtime.loaded import LoadedKernel, RepoInfo, get_loaded_kernels
from kernelmill.runtime.memo import memoized
from kernelmill.runtime.tracing import untraceable
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from kernelmill.runtime.requirements import ArchCheck
    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.lockfile import Lockfile
    from kernelmill.spec.variant import Variant

__all__ = [
    "LoadedKernel",
    "RepoInfo",
    "VariantAccepted",
    "VariantRejected",
    "get_kernel",
    "get_kernel_dep",
    "get_kernel_variants",
    "get_loaded_kernels",
    "get_local_kernel",
    "get_locked_kernel",
    "has_kernel",
    "install_kernel",
    "install_kernel_all_variants",
    "load_kernel",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantAccepted:
    """A build that fits this machine."""

    variant: Variant
    note: str = ""
    """A reservation about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRejected:
    """A build that does not fit this machine."""

    variant: Variant
    reason: str


@untraceable
@memoized
def get_kernel(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
    user_agent: str | Mapping[str, str] | None = None,
    trust_remote_code: Trust = False,
    check_arch: ArchCheck = True,
) -> ModuleType:
    """Return a kernel's module, fetched from the Hub unless it is cached.

    Without ``version`` or ``revision`` this is the newest version, and a warning says how to pin
    it. A folder that the environment variable ``LOCAL_KERNELS`` gives for ``repo_id`` is used in
    the Hub's place. In one process, the same call in the same environment gives the same module.

    Args:
        repo_id: such as ``kernels-community/gemm``.
        revision: a branch, a tag or a commit.
        version: N for the branch ``vN``.
        backend: ``cpu``, or the backend of the installed PyTorch, which is the default.
        user_agent: said to the Hub, besides what is said anyway.
        trust_remote_code: True to run the code of any publisher, or the repositories that may
            run besides those of publishers whom the Hub trusts.
        check_arch: refuse a build that has no machine code for one of the devices that are here;
            ``"any"`` refuses it only when there is code for none of them.

    Raises:
        NotTrusted: the publisher is not trusted; a ``ValueError``.
        VersionNotFound: there is no such version; a ``ValueError``.
        NoVariant: no build fits this machine; a ``FileNotFoundError``.
        Unresolved: a kernel that this one needs is missing, or needs itself; a ``ValueError``.
        DigestMismatch: the build's files are not those that were published.
        UnsupportedArch: the build has no code for a device; a ``RuntimeError``.
        LoadFailed: the build's compiled part does not fit; an ``ImportError``.
        HubError: the Hub cannot be reached, or says no.
    """
    module, advice = calls.get(
        calls.wanted(repo_id, version, revision),
        backend=backend,
        user_agent=user_agent,
        trust_remote_code=trust_remote_code,
        check_arch=check_arch,
    )
    if advice:
        warnings.warn(advice, UnpinnedKernelWarning, stacklevel=3)  # our caller's caller: a memo
    return module


@untraceable
def get_local_kernel(
    repo_path: Path | str,
    *,
    backend: str | None = None,
    trust_remote_code: Trust = False,
    user_agent: str | Mapping[str, str] | None = None,
) -> ModuleType:
    """Return the module of the best build under a folder.

    Args:
        repo_path: a kernel's repository (its ``build`` folder is found), a folder of builds, or
            one build.
        backend: ``cpu``, or the backend of the installed PyTorch, which is the default.
        trust_remote_code: as for ``get_kernel``, for the kernels that this one depends on; the
            folder itself needs no trust.
        user_agent: as for ``get_kernel``.

    Raises:
        NoVariant: no build there fits this machine; a ``FileNotFoundError``.
        MetadataError: the build says nothing of itself, or something that cannot be read.
        DigestMismatch: the build's files are not those that were built.
        LoadFailed: the build's compiled part does not fit; an ``ImportError``.
    """
    return calls.get_local(
        Path(repo_path),
        backend=backend,
        user_agent=user_agent,
        trust_remote_code=trust_remote_code,
    )


@untraceable
def get_locked_kernel(
    repo_id: str,
    *,
    lockfile: Path | Lockfile | None,
    trust_remote_code: Trust = False,
    user_agent: str | Mapping[str, str] | None = None,
) -> ModuleType:
    """Return a kernel's module at the commit that a lock file names; what it needs, likewise.

    Args:
        repo_id: a repository in the lock file.
        lockfile: a ``kernels.lock``, or its content; None for the one that was installed with the
            calling package.
        trust_remote_code: as for ``get_kernel``: a lock says which code, not whose may run.
        user_agent: as for ``get_kernel``.

    Raises:
        NotLocked: there is no lock file, or it does not hold the kernel; a ``ValueError``.
        LockfileError: the lock file cannot be read; a ``ValueError``.
        DigestMismatch: the files are not those that were locked.
        and what ``get_kernel`` raises.
    """
    return calls.get_locked(
        repo_id, lockfile, user_agent=user_agent, trust_remote_code=trust_remote_code
    )


@untraceable
def load_kernel(
    repo_id: str,
    *,
    lockfile: Path | None,
    backend: str | None = None,
    trust_remote_code: Trust = False,
) -> ModuleType:
    """Return a kernel's module at its locked commit, from what was downloaded before.

    Uses no network. `kernels download` fetches what a lock file names.

    Args:
        repo_id: a repository in the lock file.
        lockfile: as for ``get_locked_kernel``.
        backend: ``cpu``, or the backend of the installed PyTorch, which is the default.
        trust_remote_code: as for ``get_kernel``: what the Hub said of the publisher when it was
            last asked still holds.

    Raises:
        NotCached: it was not downloaded; a ``FileNotFoundError``.
        and what ``get_locked_kernel`` raises.
    """
    return calls.get_locked(
        repo_id,
        lockfile,
        backend=backend,
        trust_remote_code=trust_remote_code,
        is_offline=True,
    )


def has_kernel(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
    trust_remote_code: Trust = False,
    check_arch: ArchCheck = True,
) -> bool:
    """Tell whether ``get_kernel`` would find a build that fits here, and all that it depends on.

    Fetches metadata alone.

    Raises:
        NotTrusted: the publisher is not trusted; a ``ValueError``.
        VersionNotFound: there is no such version; a ``ValueError``.
        HubError: the Hub cannot be reached, or has no such repository.
    """
    return calls.has(
        calls.wanted(repo_id, version, revision),
        backend=backend,
        trust_remote_code=trust_remote_code,
        check_arch=check_arch,
    )


def install_kernel(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
    local_files_only: bool = False,
    user_agent: str | Mapping[str, str] | None = None,
    trust_remote_code: Trust = False,
) -> Path:
    """Fetch the build that fits here, and all that it depends on; return the build's folder.

    Nothing is imported, so neither ``LOCAL_KERNELS`` nor what the build asks of this machine
    counts.

    Args:
        repo_id: such as ``kernels-community/gemm``.
        revision: a branch, a tag or a commit.
        version: N for the branch ``vN``.
        backend: ``cpu``, or the backend of the installed PyTorch, which is the default.
        local_files_only: use no network; say so where something is missing.
        user_agent: as for ``get_kernel``.
        trust_remote_code: as for ``get_kernel``.

    Raises:
        what ``get_kernel`` raises before it imports anything.
    """
    return calls.install(
        calls.wanted(repo_id, version, revision),
        backend=backend,
        user_agent=user_agent,
        trust_remote_code=trust_remote_code,
        is_offline=local_files_only,
    )


def install_kernel_all_variants(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    trust_remote_code: Trust = False,
) -> Path:
    """Fetch every build of a kernel, and of all that any of them depends on.

    Returns the folder that holds a folder per build. Arguments and errors are those of
    ``install_kernel``.
    """
    from kernelmill.runtime import all_variants  # noqa: PLC0415 - few programs need it

    kernel = calls.wanted(repo_id, version, revision)
    return all_variants.install(kernel, trust_remote_code=trust_remote_code)


def get_kernel_variants(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
) -> list[VariantAccepted | VariantRejected]:
    """Return every build of a kernel, best first, and why each unfit one is unfit.

    Nothing is loaded, so the publisher need not be trusted.

    Raises:
        VersionNotFound: there is no such version; a ``ValueError``.
        HubError: the Hub cannot be reached, or has no such repository.
    """
    decisions = calls.trace(calls.wanted(repo_id, version, revision), backend=backend)
    return [
        VariantRejected(variant=each.variant, reason=each.objection)
        if each.objection
        else VariantAccepted(variant=each.variant, note=each.note)
        for each in decisions
    ]
