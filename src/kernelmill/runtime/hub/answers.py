"""What a Hub's answers say. A reply may have any shape: one that is none of a Hub's raises.

The readers here take an answer's shape for granted, and check the type of all that they give back.
Whoever calls them turns the ``LookupError`` or ``TypeError`` of another shape into an error.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from kernelmill.runtime.hub import Refs, RemoteFile
from kernelmill.runtime.hub.guard import ensure_commit, ensure_hash
from kernelmill.runtime.revisions import is_revision

if TYPE_CHECKING:
    from collections.abc import Iterable

log = logging.getLogger(__name__)


def read_trust(overview: Any, organisation: str) -> bool:  # noqa: ANN401 - JSON
    """Tell whether an organisation's overview vouches for it."""
    # Another organisation's answer, as after a redirect, says nothing about this one.
    is_meant = str(overview["name"]).lower() == organisation.lower()
    return is_meant and overview.get("trustedKernelPublisher", False) is True


def read_refs(listing: Any) -> Refs:  # noqa: ANN401 - JSON
    """Return a repository's branches and tags."""
    return Refs(branches=_targets(listing["branches"]), tags=_targets(listing["tags"]))


def read_commit(info: Any) -> str:  # noqa: ANN401 - JSON
    """Return the commit that a repository's info is of."""
    return ensure_commit(info["sha"])


def read_folder(entry: Any) -> str | None:  # noqa: ANN401 - JSON
    """Return the path of a listing's entry when it is a folder."""
    path = _text(entry["path"])
    return path if entry["type"] == "directory" else None


def read_file(entry: Any) -> RemoteFile | None:  # noqa: ANN401 - JSON
    """Return a listing's entry when it is a file; its blob in the cache is named after this."""
    path = _text(entry["path"])
    if entry["type"] != "file":
        return None
    size, large = entry["size"], entry.get("lfs")
    if not isinstance(size, int):
        raise TypeError(f"{size!r:.80} is no size")
    return RemoteFile(
        path=path,
        size_bytes=size,
        oid=ensure_hash(entry["oid"]),
        sha256=ensure_hash(large["oid"]) if large else "",
    )


def _targets(refs: Iterable[Any]) -> dict[str, str]:
    """Return the branches or tags that can be asked for. The cache notes them under their names."""
    targets = {_text(ref["name"]): ref["targetCommit"] for ref in refs}
    for name in targets:
        if not is_revision(name):
            log.warning("the Hub names the revision %a, which cannot be one; left out", name[:80])
    return {name: ensure_commit(it) for name, it in targets.items() if is_revision(name)}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no name")
    return value
