"""Repositories that have moved: ``kernel-status.toml`` is followed to the kernel's new home.

A repository is asked for its status only where it holds no build that fits: that costs nothing for
all others, and old builds can stay where old clients look for them.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import BadRedirect
from kernelmill.spec import status as status_format
from kernelmill.spec.errors import KernelError, StatusError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.selection import Selection
    from kernelmill.spec.names import RepoId
    from kernelmill.spec.status import Redirect

    Select = Callable[[RepoId, str], Selection]

MAX_HOPS: Final = 4

log = logging.getLogger(__name__)


def follow(hub: Hub, cache: Cache, selection: Selection, select: Select) -> Selection:
    """Return the selection in the repository that ``selection`` leads to, often itself.

    Args:
        hub: where both repositories are: a redirect cannot name another Hub.
        cache: where status files are kept.
        selection: what was selected in the repository that was asked for.
        select: chooses a build of (repository, revision). Asks for trust where its caller would
            have to: every repository on the way goes through the same gate.

    Raises:
        BadRedirect: it leads in a circle, or too far.
        StatusError: a status file cannot be read.
    """
    way = [selection]
    while selection.resolution.chosen is None:
        redirect = fetch_redirect(hub, cache, selection)
        if redirect is None:
            break
        move = f"'{selection.repo}' redirected to '{redirect.destination}'"
        log.warning("%s", move)
        try:
            selection = select(redirect.destination, redirect.revision)
        except KernelError as error:
            error.add_note(move)  # the error names a repository that nobody asked for
            raise
        way.append(selection)
        _check_way(way)
    return replace(selection, redirected_from=tuple(each.repo for each in way[:-1]))


def fetch_redirect(hub: Hub, cache: Cache, selection: Selection) -> Redirect | None:
    """Return where a repository's kernel has moved; None when it says nothing of the kind."""
    repo, commit = selection.repo, selection.choice.commit
    path = cache.snapshot(repo, commit) / status_format.FILE_NAME
    if not path.is_file():
        listed = {file.path: file for file in hub.fetch_files(repo, commit, "")}
        file = listed.get(status_format.FILE_NAME)
        if file is None:
            return None
        if file.size_bytes > status_format.MAX_BYTES:
            raise StatusError(
                f"larger than {status_format.MAX_BYTES} bytes", where=f"{repo} {path.name}"
            )
        with cache.lock(repo):
            hub.download(repo, commit, [file], cache.root)
    if selection.choice.name != commit and not hub.is_offline:
        cache.remember_ref(repo, selection.choice.name, commit)
    # NOTE: read as bytes and never more than is allowed: the file may be anything.
    with path.open("rb") as stream:
        content = stream.read(status_format.MAX_BYTES)
    return status_format.parse(
        content.decode("utf-8", errors="replace"), where=f"{repo} {path.name}"
    )


def _check_way(way: list[Selection]) -> None:
    shown = " -> ".join(str(each.repo) for each in way)
    stops = {(each.repo, each.choice.commit) for each in way}
    if len(stops) < len(way):
        raise BadRedirect(
            f"redirects lead in a circle: {shown}", hint="tell the owner of the first repository"
        )
    if len(way) > MAX_HOPS + 1:
        raise BadRedirect(
            f"more than {MAX_HOPS} redirects: {shown}",
            hint=f"ask for '{way[-1].repo}' by its own name",
        )
