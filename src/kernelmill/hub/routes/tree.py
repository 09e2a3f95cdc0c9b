"""List a revision's files and its history."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

from kernelmill.hub.errors import EntryNotFound, InvalidRequest
from kernelmill.hub.routes.common import (
    KINDS,
    is_set,
    next_link,
    path_text,
    query_number,
    read_body,
    repo_name,
    repo_to_read,
)
from kernelmill.hub.service.access import find_revision
from kernelmill.hub.service.large import with_large
from kernelmill.hub.service.reading import find_entry, history, last_commits, list_tree
from kernelmill.hub.wire.fields import Fields, parse_json
from kernelmill.hub.wire.render import commit_json, entry_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from kernelmill.hub.service.access import Revision
    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.reading import Entry
    from kernelmill.hub.store.names import RepoKind
    from kernelmill.hub.wire.render import Json

MAX_PATHS = 10_000
COMMITS_PER_PAGE = 100


def tree_routes(hub: Hub) -> list[Route]:
    """Return the endpoints that list."""
    routes = []
    for kind in KINDS:
        one = _Listing(hub, kind)
        repo = f"/api/{kind}s/{{namespace}}/{{name}}"
        routes += [
            Route(f"{repo}/tree/{{revision}}", one.tree),
            Route(f"{repo}/tree/{{revision}}/{{path:path}}", one.tree),
            Route(f"{repo}/paths-info/{{revision}}", one.paths_info, methods=["POST"]),
            Route(f"{repo}/commits/{{revision}}", one.commits),
        ]
    return routes


class _Listing:
    def __init__(self, hub: Hub, kind: RepoKind) -> None:
        self._hub = hub
        self._kind = kind

    def tree(self, request: Request) -> Response:
        revision = self._revision(request)
        path = path_text(request, "path").strip("/") if "path" in request.path_params else ""
        is_expanded = is_set(request, "expand")
        settings = self._hub.settings
        most = settings.page_entries_expanded if is_expanded else settings.page_entries
        limit = max(query_number(request, "limit", default=most, most=most), 1)
        start = query_number(request, "cursor", default=0, most=10**9)
        entries = list_tree(revision, path, is_recursive=is_set(request, "recursive"))
        page = list(islice(entries, start, start + limit + 1))
        headers = {"X-Repo-Commit": revision.commit}
        if len(page) > limit:
            # The next page is of this very commit, even if the branch moves meanwhile.
            suffix = f"/{quote(path, safe='')}" if path else ""
            url = f"/api/{self._kind}s/{repo_name(request)}/tree/{revision.commit}{suffix}"
            headers |= next_link(request, url, cursor=str(start + limit))
        body = self._describe(revision, page[:limit], is_expanded=is_expanded)
        return JSONResponse(body, headers=headers)

    async def paths_info(self, request: Request) -> Response:
        body = await read_body(request, max_bytes=self._hub.settings.max_json_bytes)
        paths, is_expanded = _parse_paths(request.headers.get("content-type", ""), body)
        if len(paths) > MAX_PATHS:
            raise InvalidRequest(f"at most {MAX_PATHS} paths may be asked for at once")
        return await run_in_threadpool(
            self._paths_info, request, paths=paths, is_expanded=is_expanded
        )

    def _paths_info(self, request: Request, *, paths: Sequence[str], is_expanded: bool) -> Response:
        revision = self._revision(request)
        found = []
        for path in dict.fromkeys(path.strip("/") for path in paths):
            try:
                found.append(find_entry(revision, path))
            except EntryNotFound:
                continue  # the protocol leaves missing paths out
        return JSONResponse(self._describe(revision, found, is_expanded=is_expanded))

    def commits(self, request: Request) -> Response:
        revision = self._revision(request)
        ids = list(history(revision.objects, revision.commit))
        limit = max(query_number(request, "limit", default=COMMITS_PER_PAGE, most=1000), 1)
        page = query_number(request, "p", default=0, most=10**6)
        shown = ids[page * limit : (page + 1) * limit]
        headers = {"X-Total-Count": str(len(ids))}
        if len(ids) > (page + 1) * limit:
            url = f"/api/{self._kind}s/{repo_name(request)}/commits/{revision.commit}"
            headers |= next_link(request, url, p=str(page + 1))
        is_formatted = "formatted" in request.query_params.getlist("expand[]")
        body = [
            commit_json(i, revision.objects.commit(i), is_formatted=is_formatted) for i in shown
        ]
        return JSONResponse(body, headers=headers)

    def _revision(self, request: Request) -> Revision:
        repo = repo_to_read(self._hub, request, self._kind)
        return find_revision(self._hub, repo, path_text(request, "revision"))

    def _describe(
        self, revision: Revision, entries: Sequence[Entry], *, is_expanded: bool
    ) -> list[Json]:
        last = last_commits(revision, (e.path for e in entries)) if is_expanded else {}
        commits = {path: (i, revision.objects.commit(i)) for path, i in last.items()}
        full = with_large(self._hub, revision, entries)
        return [entry_json(entry, commits.get(entry.path)) for entry in full]


def _parse_paths(content_type: str, body: bytes) -> tuple[list[str], bool]:
    """Read the paths of a form (as the Python client sends) or of a JSON object."""
    if content_type.startswith("application/json"):
        fields = Fields(parse_json(body, where="request body"), where="request body")
        return fields.texts("paths"), fields.flag("expand", default=False)
    try:
        form = parse_qs(body.decode(), max_num_fields=MAX_PATHS + 10)
    except ValueError as error:
        raise InvalidRequest(f"the form cannot be read: {error}") from error
    return form.get("paths", []), form.get("expand", [""])[0].lower() == "true"
