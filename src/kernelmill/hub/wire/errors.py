"""Errors become HTTP in one table."""

from __future__ import annotations

import errno
import logging
import re
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from kernelmill.hub import errors

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

log = logging.getLogger(__name__)

STATUS: Final[dict[type[errors.Refusal], tuple[int, str]]] = {
    errors.Refusal: (400, ""),
    errors.InvalidRequest: (400, ""),
    errors.NotSignedIn: (401, ""),
    errors.BadCredentials: (401, ""),
    errors.Forbidden: (403, ""),
    errors.BadTicket: (403, ""),
    errors.BadXetToken: (401, ""),
    errors.LargeFileNotFound: (404, ""),
    errors.HiddenRepo: (401, "RepoNotFound"),
    errors.RepoNotFound: (404, "RepoNotFound"),
    errors.RevisionNotFound: (404, "RevisionNotFound"),
    errors.EntryNotFound: (404, "EntryNotFound"),
    errors.AccountNotFound: (404, ""),
    errors.Conflict: (409, ""),
    errors.StaleParent: (412, ""),
    errors.TooSlow: (408, ""),
    errors.TooLarge: (413, ""),
    errors.RangeNotSatisfiable: (416, ""),
    errors.GitMissing: (501, ""),
}
"""Refusal -> (status, X-Error-Code). huggingface_hub picks its exception by the code first."""


GIT_PATH: Final = re.compile(r"/(info/refs|git-[a-z-]+|info/lfs/.*)$")


def refusal_response(request: Request, error: Exception) -> Response:
    """Answer a request that the Hub refuses."""
    assert isinstance(error, errors.Refusal)
    status, code = next(STATUS[base] for base in type(error).__mro__ if base in STATUS)
    headers = {"X-Error-Code": code} if code else {}
    if status == 401 and GIT_PATH.search(request.url.path):
        headers["WWW-Authenticate"] = 'Basic realm="kernel-hub"'  # git asks for a password then
    body: dict[str, object] = {}
    match error:
        case errors.EntryNotFound(commit=str(commit)) if commit:
            headers["X-Repo-Commit"] = commit
        case errors.RangeNotSatisfiable(size_bytes=size_bytes):
            headers["Content-Range"] = f"bytes */{size_bytes}"
        case errors.RepoExists(url_path=path, repo_name=name):
            body = {"url": str(request.base_url).rstrip("/") + path, "name": name}
    return error_response(status, str(error), headers=headers, body=body)


def http_error_response(_: Request, error: Exception) -> Response:
    """Answer a request for a path or a method that does not exist."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    text = "this Hub has no such page" if error.status_code == 404 else error.detail
    return error_response(error.status_code, text, headers=headers)


def busy_response(_: Request, error: Exception) -> Response:
    """Answer a request that the database could not take in time; the client tries again."""
    assert isinstance(error, OperationalError)
    log.error("database: %s", error.orig)
    text = f"the database did not answer ({error.orig}): try again"
    return error_response(503, text, headers={"Retry-After": "1"})


def storage_response(_: Request, error: Exception) -> Response:
    """Answer a request for which the disk failed or is full."""
    assert isinstance(error, OSError)
    log.error("storage: %s", error)
    status = 507 if error.errno in {errno.ENOSPC, errno.EDQUOT} else 500
    return error_response(status, f"the Hub's storage failed: {error.strerror or 'see its log'}")


def gone_response(_: Request, error: Exception) -> Response:
    """End a request whose client went away; nobody reads the answer."""
    assert isinstance(error, ClientDisconnect)
    return error_response(400, "the client went away before the request was complete")


def crash_response(_: Request, error: Exception) -> Response:
    """Answer a request that met a bug; the traceback goes to the log, not to the client."""
    log.error("internal error", exc_info=error)
    return error_response(500, "internal error; see the Hub's log")


def error_response(
    status: int,
    text: str,
    *,
    headers: dict[str, str] | None = None,
    body: dict[str, object] | None = None,
) -> Response:
    """Return an error's reply; the text stands in the body and, for HEAD, in a header."""
    line = "".join(c if c.isprintable() else " " for c in text[:1000])
    line = " ".join(line.split()).encode("ascii", "backslashreplace").decode()[:1000]
    return JSONResponse(
        {"error": text, **(body or {})},
        status,
        headers={"X-Error-Message": line, **(headers or {})},
    )
