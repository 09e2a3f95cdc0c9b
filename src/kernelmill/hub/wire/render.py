"""Values become the JSON that clients expect."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kernelmill.hub.wire.hashes import hash_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dulwich.objects import Commit

    from kernelmill.hub.service.reading import Entry
    from kernelmill.hub.store.accounts import Account, Bearer
    from kernelmill.hub.store.large import LargeFile
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.store.repos import Repo

Json = dict[str, object]


def repo_path(kind: RepoKind, full_name: str) -> str:
    """Return the path of a repository's page."""
    return f"/{full_name}" if kind == "model" else f"/{kind}s/{full_name}"


def date(unix_ms: int) -> str:
    """Return a time as clients parse it: UTC, milliseconds, ``Z``."""
    moment = datetime.fromtimestamp(unix_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def repo_json(repo: Repo) -> Json:
    """Describe a repository."""
    body: Json = {
        "_id": repo.id,
        "id": repo.full_name,
        "author": repo.namespace,
        "lastModified": date(repo.updated_ms),
        "createdAt": date(repo.created_ms),
        "private": repo.is_private,
        "gated": False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
    }
    if repo.kind == "model":
        body["modelId"] = repo.full_name
    return body


def revision_json(
    repo: Repo, commit: str, when: Commit, entries: Iterable[Entry], *, has_blobs: bool
) -> Json:
    """Describe a repository at a commit, with its files."""
    siblings: list[Json] = []
    for entry in entries:
        if not entry.is_folder:
            sibling: Json = {"rfilename": entry.path}
            if has_blobs:
                sibling |= {"size": entry.size_bytes, "blobId": entry.id}
                if entry.large is not None:
                    sibling["lfs"] = lfs_json(entry.large, entry.pointer_bytes, key="sha256")
            siblings.append(sibling)
    moved = {"lastModified": date(when.commit_time * 1000)}
    body = repo_json(repo) | moved | {"sha": commit}
    if repo.kind == "kernel" and not has_blobs:
        # NOTE: huggingface_hub before 1.22 trips over them in kernels, and lists the tree without.
        return body
    return body | {"siblings": siblings}


def entry_json(entry: Entry, last: tuple[str, Commit] | None) -> Json:
    """Describe a file or folder, with the commit that last changed it if that is known."""
    body: Json = {
        "type": "directory" if entry.is_folder else "file",
        "path": entry.path,
        "size": entry.size_bytes,
        "oid": entry.id,
    }
    if entry.large is not None:
        body["lfs"] = lfs_json(entry.large, entry.pointer_bytes, key="oid")
        body["xetHash"] = hash_text(entry.large.hash)
    if last is not None:
        commit_id, commit = last
        title, _ = commit_text(commit)
        when = date(commit.commit_time * 1000)
        body["lastCommit"] = {"id": commit_id, "title": title, "date": when}
    return body


def lfs_json(file: LargeFile, pointer_bytes: int, *, key: str) -> Json:
    """Describe a large file."""
    return {key: file.sha256, "size": file.size_bytes, "pointerSize": pointer_bytes}


def commit_json(commit_id: str, commit: Commit, *, is_formatted: bool) -> Json:
    """Describe a commit."""
    title, message = commit_text(commit)
    user = commit.author.decode("utf-8", "replace").partition(" <")[0]
    body: Json = {
        "id": commit_id,
        "title": title,
        "message": message,
        "authors": [{"user": user, "avatar": ""}],
        "date": date(commit.commit_time * 1000),
    }
    if is_formatted:
        body["formatted"] = {"title": title, "message": message}
    return body


def commit_text(commit: Commit) -> tuple[str, str]:
    """Return a commit's title and the rest of its message."""
    title, _, rest = commit.message.decode("utf-8", "replace").partition("\n")
    return title.strip(), rest.strip()


def refs_json(values: Mapping[str, str], *, has_pulls: bool) -> Json:
    """Describe references; ``values`` maps full names to commits."""
    groups: dict[str, list[Json]] = {"refs/heads/": [], "refs/tags/": [], "refs/pr/": []}
    for ref, commit in values.items():
        prefix = next((p for p in groups if ref.startswith(p)), None)
        if prefix is not None:
            name = ref if prefix == "refs/pr/" else ref.removeprefix(prefix)
            groups[prefix].append({"name": name, "ref": ref, "targetCommit": commit})
    body: Json = {
        "branches": groups["refs/heads/"],
        "converts": [],
        "tags": groups["refs/tags/"],
    }
    return body | ({"pullRequests": groups["refs/pr/"]} if has_pulls else {})


def whoami_json(bearer: Bearer) -> Json:
    """Describe the asker."""
    account = bearer.account
    return {
        "type": "user",
        "id": str(account.id),
        "name": account.name,
        "fullname": account.name,
        "email": None,
        "emailVerified": False,
        "isPro": False,
        "avatarUrl": "",
        "isAdmin": account.is_admin,
        "orgs": [
            {"type": "org", "name": org, "fullname": org, "roleInOrg": role}
            for org, role in sorted(bearer.memberships.items())
        ],
        "auth": {
            "type": "access_token",
            "accessToken": {
                "displayName": bearer.label,
                "role": "read" if bearer.role == "read" else "write",
                "createdAt": date(bearer.created_ms),
            },
        },
    }


def overview_json(account: Account, repos: Mapping[RepoKind, int], members: int) -> Json:
    """Describe a user or an organisation to anybody."""
    body: Json = {
        "name": account.name,
        "fullname": account.name,
        "avatarUrl": "",
        "numModels": repos.get("model", 0),
        "numKernels": repos.get("kernel", 0),
        "numDatasets": 0,
        "numSpaces": 0,
    }
    if account.kind == "user":
        return {"_id": str(account.id), "user": account.name, "type": "user"} | body
    return body | {
        "type": "org",
        "isVerified": account.is_trusted,
        "numUsers": members,
        "trustedKernelPublisher": account.is_trusted,
    }
