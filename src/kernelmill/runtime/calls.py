"""What the functions of ``api`` do: apart from them, because importing ``api`` has to be cheap."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from kernelmill.runtime import tree
from kernelmill.runtime.errors import (
    MissingDependency,
    NotCached,
    UnsupportedArch,
    UnsupportedKernel,
)
from kernelmill.runtime.resolvers import FromHub, RemoteKernel
from kernelmill.runtime.session import open_session
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.errors import InvalidName, NoVariant
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.requirements import ArchCheck
    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.lockfile import Lockfile
    from kernelmill.spec.resolve import Decision

    UserAgent = str | Mapping[str, str] | None

log = logging.getLogger(__name__)


def wanted(repo_id: str, version: int | None, revision: str | None) -> KernelDependency:
    """Return what the arguments of a call name.

    Raises:
        InvalidName: it is no repository; says what loads a folder, where one is named.
    """
    try:
        repo = RepoId.parse(repo_id)
    except InvalidName as error:
        if _is_path(repo_id):
            hint = f"a folder is loaded by get_local_kernel({str(repo_id)!r})"
            raise InvalidName(error.problem, where=error.where, hint=hint) from None
        raise
    return KernelDependency(repo_id=repo, version=version, revision=revision)


def _is_path(text: object) -> bool:
    is_like_one = isinstance(text, str | os.PathLike) and str(text)[:1] in {"/", ".", "~"}
    return is_like_one or (isinstance(text, str | os.PathLike) and os.path.isdir(text))  # noqa: PTH112


def get(
    kernel: KernelDependency,
    *,
    backend: str | None,
    user_agent: UserAgent,
    trust_remote_code: Trust,
    check_arch: ArchCheck,
) -> tuple[ModuleType, str]:
    """Load a kernel; return it, and what its caller should change in the call."""
    session = open_session(backend=backend, user_agent=user_agent)
    plan = session.plan(kernel, trust_remote_code=trust_remote_code, check_arch=check_arch)
    found = plan.location
    advice = found.selection.choice.advice if isinstance(found, RemoteKernel) else ""
    return tree.load(session, plan), advice


def get_local(
    path: Path, *, backend: str | None, user_agent: UserAgent, trust_remote_code: Trust
) -> ModuleType:
    """Load the best build under a folder."""
    session = open_session(backend=backend, user_agent=user_agent)
    return tree.load(session, session.plan_local(path, trust_remote_code=trust_remote_code))


def get_locked(
    repo_id: str,
    lockfile: Path | Lockfile | None,
    *,
    backend: str | None = None,
    user_agent: UserAgent = None,
    trust_remote_code: Trust = False,
    is_offline: bool = False,
) -> ModuleType:
    """Load a kernel at its locked commit."""
    from kernelmill.runtime.locks import locks_of  # noqa: PLC0415 - most calls need no lock

    locked, repo = locks_of(lockfile), RepoId.parse(repo_id)
    session = open_session(backend=backend, user_agent=user_agent, is_offline=is_offline)
    plan = session.plan_locked(repo, locked, trust_remote_code=trust_remote_code)
    return tree.load(session, plan)


def has(
    kernel: KernelDependency,
    *,
    backend: str | None,
    trust_remote_code: Trust,
    check_arch: ArchCheck,
) -> bool:
    """Tell whether ``get`` would find all that it needs."""
    session = open_session(backend=backend)
    try:
        session.plan(kernel, trust_remote_code=trust_remote_code, check_arch=check_arch)
    except (NoVariant, NotCached, UnsupportedArch, UnsupportedKernel, MissingDependency) as error:
        log.info("%s", error)
        return False
    return True


def install(
    kernel: KernelDependency,
    *,
    backend: str | None,
    user_agent: UserAgent,
    trust_remote_code: Trust,
    is_offline: bool,
) -> Path:
    """Fetch a kernel and all that it depends on, whatever they ask of this machine."""
    session = open_session(backend=backend, user_agent=user_agent, is_offline=is_offline)
    plan = tree.plan(session, kernel, FromHub(trust_remote_code=trust_remote_code))
    return tree.install(session, plan)


def trace(kernel: KernelDependency, *, backend: str | None) -> tuple[Decision, ...]:
    """Return what is decided about each build of a kernel."""
    selection = open_session(backend=backend).trace(
        kernel.repo_id, version=kernel.version, revision=kernel.revision
    )
    return selection.resolution.trace
