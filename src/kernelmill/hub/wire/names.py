"""Names that come from outside: accounts, repositories, references, and paths in a repository."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from kernelmill.hub.errors import InvalidRequest
from kernelmill.spec.errors import InvalidName
from kernelmill.spec.names import RepoId

RESERVED: Final = frozenset(
    {"api", "kernels", "models", "datasets", "spaces", "resolve", "static", "health", "new", "nix"}
)
COMMIT_ID: Final = re.compile(r"[0-9a-f]{40}")
SHORT_ID: Final = re.compile(r"[0-9a-f]{5,40}")
MAX_PATH_BYTES: Final = 4096
MAX_COMPONENT_BYTES: Final = 255
MAX_COMPONENTS: Final = 100
"""Trees are read and written recursively, some calls for each level; Python allows about 1000."""


def check_account_name(name: str) -> str:
    """Return ``name`` if it may name a user or an organisation.

    Raises:
        InvalidRequest: it may not.
    """
    if name.lower() in RESERVED:
        raise InvalidRequest(f"the name {name!r} is reserved")
    try:
        return RepoId.parse(f"{name}/x").namespace
    except InvalidName as error:
        raise InvalidRequest(
            f"{name!r} cannot name an account: use letters, digits, '-', '_' and '.', no '--' or"
            " '..', and neither '-' nor '.' at an end"
        ) from error


def parse_repo_id(text: str) -> RepoId:
    """Read ``namespace/name``.

    Raises:
        InvalidRequest: it is something else.
    """
    try:
        return RepoId.parse(text)
    except InvalidName as error:
        raise InvalidRequest(error.problem, hint=error.hint) from error


def check_ref_name(name: str, *, what: str) -> str:
    """Return ``name`` if it may name a branch or a tag (git's rules, and no disguised commit id).

    Raises:
        InvalidRequest: it may not.
    """
    parts = name.split("/")
    is_bad = (
        not name
        or len(name.encode("utf-8", "surrogatepass")) > 400
        or any(not part or part.startswith(".") or part.endswith((".lock", ".")) for part in parts)
        or ".." in name
        or "@{" in name
        or name in {"@", "HEAD"}
        or name.startswith("-")
        or any(c in " ~^:?*[\\" or ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in name)
        or _has_surrogates(name)
    )
    if is_bad:
        raise InvalidRequest(f"{name!r} cannot name a {what}: git refuses it")
    if name.startswith("refs/"):
        raise InvalidRequest(f"{name!r} cannot name a {what}: it starts with 'refs/'")
    if COMMIT_ID.fullmatch(name):
        raise InvalidRequest(f"{name!r} cannot name a {what}: it looks like a commit id")
    return name


def check_path(path: str) -> str:
    """Return ``path`` if a commit may write there.

    Raises:
        InvalidRequest: it leaves the repository, belongs to git, is no proper name, or is bytecode.
    """
    objection = _objection(path)
    if objection:
        raise InvalidRequest(f"{path!r} is not a path for a file: {objection}")
    return path


def _objection(path: str) -> str:
    parts = path.split("/")
    rules = (
        (path.startswith("/"), "it is absolute"),
        ("\\" in path, "it has a backslash"),
        (
            _has_surrogates(path) or any(unicodedata.category(c) == "Cc" for c in path),
            "it has a control character",
        ),
        (".." in parts, "it has a '..'"),
        (any(part in {"", "."} for part in parts), "it has an empty component"),
        (len(parts) > MAX_COMPONENTS, f"it has more than {MAX_COMPONENTS} components"),
        (any(map(_is_git_folder, parts)), "'.git' belongs to git"),
        (
            "__pycache__" in parts or path.lower().endswith((".pyc", ".pyo")),
            "it is Python bytecode, which is not published",
        ),
        (_byte_length(path) > MAX_PATH_BYTES, f"it is longer than {MAX_PATH_BYTES} bytes"),
        (
            any(_byte_length(part) > MAX_COMPONENT_BYTES for part in parts),
            f"a component is longer than {MAX_COMPONENT_BYTES} bytes",
        ),
    )
    return next((text for is_broken, text in rules if is_broken), "")


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _is_git_folder(part: str) -> bool:
    # Some file systems drop trailing dots, spaces and invisible characters, and ignore case.
    visible = "".join(c for c in part if unicodedata.category(c) != "Cf")
    stem = visible.casefold().partition(":")[0].rstrip(". ")
    return stem in {".git", "git~1"}


def _has_surrogates(text: str) -> bool:
    return any(0xD800 <= ord(c) <= 0xDFFF for c in text)
