"""What the functions of ``api`` do: apart from them, because importing ``api`` has to be cheap."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kernelmill.runtime import tree
from kernelmill.runtime.errors import (
    MissingDependency,
    NotCached,
    UnsupportedArch,
    UnsupportedKernel,
)
from kernelmill.runtime.locks import read_lockfile
from kernelmill.runtime.resolvers import FromHub, RemoteKernel
from kernelmill.runtime.session import open_session
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.errors import NoVariant
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType

    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.resolve import Decision

    UserAgent = str | Mapping[str, str] | None

log = logging.getLogger(__name__)


def wanted(repo_id: str, version: int | None, revision: str | None) -> KernelDependency:
    """Return what the arguments of a call name."""
    return KernelDependency(repo_id=RepoId.parse(repo_id), version=version, revision=revision)


def get(
    kernel: KernelDependency,
    *,
    backend: str | None,
    user_agent: UserAgent,
    trust_remote_code: Trust,
    check_arch: bool,
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
    lockfile: Path | None,
    *,
    backend: str | None = None,
    user_agent: UserAgent = None,
    trust_remote_code: Trust = False,
    is_offline: bool = False,
) -> ModuleType:
    """Load a kernel at its locked commit."""
    locked, repo = read_lockfile(lockfile), RepoId.parse(repo_id)
    session = open_session(backend=backend, user_agent=user_agent, is_offline=is_offline)
    plan = session.plan_locked(repo, locked, trust_remote_code=trust_remote_code)
    return tree.load(session, plan)


def has(
    kernel: KernelDependency, *, backend: str | None, trust_remote_code: Trust, check_arch: bool
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
