"""Write commits: build the pack, store it durably, then move the branch in one transaction."""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dulwich.objects import Commit, ObjectID

from kernelmill.hub.errors import (
    Conflict,
    InvalidRequest,
    RefMoved,
    RepoNotFound,
    RevisionNotFound,
    StaleParent,
)
from kernelmill.hub.service.access import branch_ref
from kernelmill.hub.service.editor import TreeEditor
from kernelmill.hub.store.names import InMemory, ObjectKind
from kernelmill.hub.store.repos import RefChange, publish, read_refs
from kernelmill.hub.wire.commits import AddFile, AddLargeFile, DeleteFile, DeleteFolder, Header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.objects import ObjectReader
    from kernelmill.hub.store.packs import PackWriter
    from kernelmill.hub.store.repos import Repo
    from kernelmill.hub.wire.commits import Operation

log = logging.getLogger(__name__)

ATTEMPTS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBlob:
    """A file whose content the pack holds."""

    path: str
    blob: str


Edit = PutBlob | DeleteFile | DeleteFolder


def commit(
    hub: Hub, repo: Repo, author: str, revision: str, lines: Iterator[Header | Operation]
) -> str:
    """Add one commit to a branch and return its id; the tip when nothing changes.

    Raises:
        RevisionNotFound: there is no such branch.
        StaleParent: the header names a parent that is not the branch's tip.
        InvalidRequest: an operation is malformed or impossible.
        EntryNotFound: a file to delete does not exist.
    """
    ref = branch_ref(repo, revision)
    tip = _read_tip(hub, repo, ref)
    reader = hub.objects.reader(repo.id, repo.gen)
    header = next(lines)
    assert isinstance(header, Header)
    _check_parent(header, tip)
    with hub.objects.pack_writer(reader) as pack:
        edits = _write_blobs(pack, lines, max_operations=hub.settings.max_operations)
        blobs_end = pack.mark()
        for _ in range(ATTEMPTS):
            new = _write_commit(pack, reader, author=author, header=header, edits=edits, tip=tip)
            if new == tip or _publish(hub, repo, pack, RefChange(name=ref, old=tip, new=new)):
                return new
            # Somebody was faster. The blobs stay; trees and commit are made again on their tip.
            pack.rewind(blobs_end)
            time.sleep(random.uniform(0.0, 0.05))
            tip = _read_tip(hub, repo, ref)
            _check_parent(header, tip)
    raise Conflict(f"{revision!r} kept changing, try again")


def commit_content(
    *, tree: str, parents: Sequence[str], author: str, summary: str, description: str = ""
) -> InMemory:
    """Return a git commit's content, dated now."""
    message = summary.strip() or "Update"
    if description.strip():
        message += f"\n\n{description.strip()}"
    commit_object = Commit()
    commit_object.tree = ObjectID(tree.encode())
    commit_object.parents = [ObjectID(parent.encode()) for parent in parents]
    commit_object.author = commit_object.committer = (
        f"{author} <{author}@users.noreply.invalid>".encode()
    )
    commit_object.author_time = commit_object.commit_time = int(time.time())
    commit_object.author_timezone = commit_object.commit_timezone = 0
    commit_object.message = message.replace("\0", "").encode("utf-8", "replace") + b"\n"
    return InMemory(commit_object.as_raw_string())


def _read_tip(hub: Hub, repo: Repo, ref: str) -> str:
    tip = read_refs(hub.database, repo.id, ref).get(ref)
    if tip is None:
        raise RevisionNotFound(f"branch {ref!r} not found in {repo.full_name!r}")
    return tip


def _check_parent(header: Header, tip: str) -> None:
    if header.parent is not None and header.parent != tip:
        raise StaleParent(
            f"the branch is at {tip}, not at the given parent {header.parent!r}: "
            "fetch and try again"
        )


def _write_blobs(
    pack: PackWriter, lines: Iterator[Header | Operation], *, max_operations: int
) -> list[Edit]:
    edits: list[Edit] = []
    for line in lines:
        assert not isinstance(line, Header)
        if isinstance(line, AddFile):
            blob = pack.add(ObjectKind.BLOB, line.content)
            edits.append(PutBlob(path=line.path, blob=blob))
        else:
            # Large files have become pointers on the way here.
            assert not isinstance(line, AddLargeFile)
            edits.append(line)
        if len(edits) > max_operations:
            raise InvalidRequest(f"a commit may have at most {max_operations} operations")
    return edits


def _write_commit(
    pack: PackWriter,
    reader: ObjectReader,
    *,
    author: str,
    header: Header,
    edits: Sequence[Edit],
    tip: str,
) -> str:
    """Write trees and commit on top of ``tip``; return ``tip`` itself when nothing changes."""
    root = reader.commit(tip).tree.decode()
    editor = TreeEditor(reader, root)
    for edit in edits:
        match edit:
            case PutBlob(path=path, blob=blob):
                editor.put_file(path, blob)
            case DeleteFile(path=path):
                editor.delete_file(path)
            case DeleteFolder(path=path):
                editor.delete_folder(path)
    tree = editor.write(pack)
    if tree == root:
        return tip
    content = commit_content(
        tree=tree,
        parents=[tip],
        author=author,
        summary=header.summary,
        description=header.description,
    )
    return pack.add(ObjectKind.COMMIT, content)


def _publish(hub: Hub, repo: Repo, pack: PackWriter, change: RefChange) -> bool:
    stored = hub.objects.store_pack(repo.id, pack)
    try:
        publish(hub.database, repo.id, stored, [change])
    except RefMoved:
        log.debug("%s moved while a commit was written", change.name)
        hub.objects.discard_pack(repo.id, stored)
        return False
    except RepoNotFound:
        hub.objects.discard_pack(repo.id, stored)
        raise
    return True
