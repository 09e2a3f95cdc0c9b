"""The functions that programs call. The package ``kernels`` offers them under the usual names."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.runtime.errors import NotCached, UnpinnedKernelWarning, UnsupportedArch
from kernelmill.runtime.memo import memoized
from kernelmill.runtime.session import open_session
from kernelmill.spec.errors import NoVariant
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.variant import Variant

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantAccepted:
    """A build that fits this machine."""

    variant: Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRejected:
    """A build that does not fit this machine."""

    variant: Variant
    reason: str


@memoized
def get_kernel(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
    user_agent: str | Mapping[str, str] | None = None,
    trust_remote_code: Trust = False,
    check_arch: bool = True,
) -> ModuleType:
    """Return a kernel's module, fetched from the Hub unless it is cached.

    Without ``version`` or ``revision`` this is the newest version, and a warning says how to pin
    it. A folder that the environment variable ``LOCAL_KERNELS`` gives for ``repo_id`` is used in
    the Hub's place.

    Args:
        repo_id: such as ``kernels-community/gemm``.
        revision: a branch, a tag or a commit.
        version: N for the branch ``vN``.
        backend: ``cpu``, or the backend of the installed PyTorch, which is the default.
        user_agent: said to the Hub, besides what is said anyway.
        trust_remote_code: True to run the code of any publisher, or the repositories that may
            run besides those of publishers whom the Hub trusts.
        check_arch: refuse a build that has no machine code for the devices that are here.

    Raises:
        NotTrusted: the publisher is not trusted; a ``ValueError``.
        VersionNotFound: there is no such version; a ``ValueError``.
        NoVariant: no build fits this machine; a ``FileNotFoundError``.
        DigestMismatch: the build's files are not those that were published.
        UnsupportedArch: the build has no code for a device; a ``RuntimeError``.
        LoadFailed: the build's compiled part does not fit; an ``ImportError``.
        HubError: the Hub cannot be reached, or says no.
    """
    session = open_session(backend=backend, user_agent=user_agent)
    if path := session.local_kernels.get(repo_id):
        _note_override(repo_id, path)
        return session.load_local(path)
    selection = session.select(
        repo_id, version=version, revision=revision, trust_remote_code=trust_remote_code
    )
    if selection.choice.advice:
        warnings.warn(selection.choice.advice, UnpinnedKernelWarning, stacklevel=3)
    return session.load(selection, check_arch=check_arch)


def get_local_kernel(
    repo_path: Path | str,
    *,
    backend: str | None = None,
    trust_remote_code: Trust = False,  # noqa: ARG001 - for the kernels that this one depends on
    user_agent: str | Mapping[str, str] | None = None,
) -> ModuleType:
    """Return the module of the best build under a folder.

    Args:
        repo_path: a kernel's repository (its ``build`` folder is found), a folder of builds, or
            one build.
        backend: ``cpu``, or the backend of the installed PyTorch, which is the default.
        trust_remote_code: as for ``get_kernel``; the folder itself needs no trust.
        user_agent: as for ``get_kernel``.

    Raises:
        NoVariant: no build there fits this machine; a ``FileNotFoundError``.
        MetadataError: the build says nothing of itself, or something that cannot be read.
        DigestMismatch: the build's files are not those that were built.
        LoadFailed: the build's compiled part does not fit; an ``ImportError``.
    """
    session = open_session(backend=backend, user_agent=user_agent)
    return session.load_local(Path(repo_path))


def has_kernel(
    repo_id: str,
    *,
    revision: str | None = None,
    version: int | None = None,
    backend: str | None = None,
    trust_remote_code: Trust = False,
    check_arch: bool = True,
) -> bool:
    """Tell whether ``get_kernel`` would find a build that fits. Fetches its metadata alone.

    Raises:
        NotTrusted: the publisher is not trusted; a ``ValueError``.
        VersionNotFound: there is no such version; a ``ValueError``.
        HubError: the Hub cannot be reached, or has no such repository.
    """
    session = open_session(backend=backend)
    try:
        if path := session.local_kernels.get(repo_id):
            return session.has_local(path)
        selection = session.select(
            repo_id, version=version, revision=revision, trust_remote_code=trust_remote_code
        )
        session.check(selection, check_arch=check_arch)
    except (NoVariant, NotCached, UnsupportedArch) as error:
        log.info("%s", error)
        return False
    return True


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
    session = open_session(backend=backend)
    selection = session.look_up(RepoId.parse(repo_id), version=version, revision=revision)
    return [
        VariantRejected(variant=each.variant, reason=each.objection)
        if each.objection
        else VariantAccepted(variant=each.variant)
        for each in selection.resolution.trace
    ]


def _note_override(repo_id: str, path: Path) -> None:
    log.info("LOCAL_KERNELS: using %s for '%s'", path, repo_id)
