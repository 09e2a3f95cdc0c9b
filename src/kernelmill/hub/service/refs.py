"""Create and delete branches and tags."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dulwich.objects import Commit, ObjectID, Tag

from kernelmill.hub.errors import Conflict, Forbidden, RefMoved, RevisionNotFound
from kernelmill.hub.service.access import find_revision
from kernelmill.hub.store.names import HEADS, MAIN, TAGS, InMemory, ObjectKind
from kernelmill.hub.store.repos import RefChange, publish, read_refs
from kernelmill.hub.wire.names import check_ref_name

if TYPE_CHECKING:
    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.store.repos import Repo


def create_branch(hub: Hub, repo: Repo, name: str, start: str) -> None:
    """Create a branch at a revision.

    Raises:
        InvalidRequest: git refuses the name.
        RevisionNotFound: there is no such revision.
        Conflict: the branch exists.
    """
    ref = HEADS + check_ref_name(name, what="branch")
    commit = find_revision(hub, repo, start).commit
    _create(hub, repo, ref, commit)


def create_tag(
    hub: Hub, repo: Repo, name: str, revision: str, *, message: str, author: str
) -> None:
    """Create a tag at a revision, an annotated one when there is a message.

    Raises:
        InvalidRequest: git refuses the name.
        RevisionNotFound: there is no such revision.
        Conflict: the tag exists.
    """
    ref = TAGS + check_ref_name(name, what="tag")
    found = find_revision(hub, repo, revision)
    if not message:
        _create(hub, repo, ref, found.commit)
        return
    with hub.objects.pack_writer(found.objects) as pack:
        tag = pack.add(ObjectKind.TAG, _tag_content(name, found.commit, message, author))
        stored = hub.objects.store_pack(repo.id, pack)
        try:
            publish(hub.database, repo.id, stored, [RefChange(name=ref, old=None, new=tag)])
        except RefMoved as error:
            hub.objects.discard_pack(repo.id, stored)
            raise Conflict(error.problem) from error


def delete_branch(hub: Hub, repo: Repo, name: str) -> None:
    """Delete a branch; its commits stay readable by their ids.

    Raises:
        Forbidden: it is ``main``.
        RevisionNotFound: there is no such branch.
    """
    ref = HEADS + name
    if ref == MAIN:
        raise Forbidden("the branch 'main' cannot be deleted")
    _delete(hub, repo, ref)


def delete_tag(hub: Hub, repo: Repo, name: str) -> None:
    """Delete a tag.

    Raises:
        RevisionNotFound: there is no such tag.
    """
    _delete(hub, repo, TAGS + name)


def _create(hub: Hub, repo: Repo, ref: str, commit: str) -> None:
    publish(hub.database, repo.id, None, [RefChange(name=ref, old=None, new=commit)])


def _delete(hub: Hub, repo: Repo, ref: str) -> None:
    old = read_refs(hub.database, repo.id, ref).get(ref)
    if old is None:
        raise RevisionNotFound(f"{ref!r} not found in {repo.full_name!r}")
    publish(hub.database, repo.id, None, [RefChange(name=ref, old=old, new=None)])


def _tag_content(name: str, commit: str, message: str, author: str) -> InMemory:
    tag = Tag()
    tag.object = (Commit, ObjectID(commit.encode()))
    tag.name = name.encode()
    tag.tagger = f"{author} <{author}@users.noreply.invalid>".encode()
    tag.tag_time = int(time.time())
    tag.tag_timezone = 0
    tag.message = message.replace("\0", "").encode("utf-8", "replace") + b"\n"
    return InMemory(tag.as_raw_string())
