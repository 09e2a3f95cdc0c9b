"""Fetch every build of a kernel, for other machines than this one, and of what they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.runtime.errors import Unresolved
from kernelmill.runtime.fetch import fetch_metadata, fetch_variant
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.runtime.session import open_session
from kernelmill.runtime.tree import MAX_KERNELS, label
from kernelmill.runtime.trust import lasting
from kernelmill.spec.resolve import no_variant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.selection import Selection
    from kernelmill.runtime.session import Session
    from kernelmill.runtime.trust import Trust
    from kernelmill.spec.dependencies import KernelDependency


def install(wanted: KernelDependency, *, trust_remote_code: Trust = False) -> Path:
    """Fetch all builds on the Hub that the environment describes."""
    return install_from(open_session(), wanted, trust_remote_code=lasting(trust_remote_code))


def install_from(
    session: Session, wanted: KernelDependency, *, trust_remote_code: Trust = False
) -> Path:
    """Return the folder of all builds of ``wanted``. Everything is found before it is fetched.

    Raises:
        NoVariant: a kernel has no builds at all.
        Unresolved: there are too many kernels.
    """
    found: dict[KernelDependency, Selection] = {}
    todo = [wanted]
    while todo:
        kernel = todo.pop()
        if kernel in found:
            continue
        if len(found) >= MAX_KERNELS:
            raise Unresolved(f"depends on more than {MAX_KERNELS} kernels", where=label(wanted))
        found[kernel] = session.find(
            str(kernel.repo_id),
            version=kernel.version,
            revision=kernel.revision,
            trust_remote_code=trust_remote_code,
        )
        todo += _dependencies(session, found[kernel])
    for selection in found.values():
        _fetch(session, selection)
    top = found[wanted]
    return session.cache.snapshot(top.repo, top.choice.commit) / BUILD_FOLDER


def _dependencies(session: Session, selection: Selection) -> list[KernelDependency]:
    repo, commit = selection.repo, selection.choice.commit
    if not selection.resolution.trace:
        raise no_variant(
            selection.resolution, repo=str(repo), revision=selection.choice.name, host=session.host
        )
    builds = (
        fetch_metadata(session.hub, session.cache, repo, commit=commit, variant=str(each.variant))
        for each in selection.resolution.trace
    )
    return [dependency for metadata in builds for dependency in metadata.kernel_depends]


def _fetch(session: Session, selection: Selection) -> None:
    for each in selection.resolution.trace:
        fetch_variant(
            session.hub,
            session.cache,
            selection.repo,
            commit=selection.choice.commit,
            variant=str(each.variant),
        )
