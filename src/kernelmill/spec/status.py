"""``kernel-status.toml``: what a repository says of itself as a whole. Today: that it has moved.

::

    kind = "redirect"
    destination = "org/new"
    revision = "main"
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import Final

from kernelmill.spec.errors import InputError, InvalidName, StatusError
from kernelmill.spec.names import RepoId

FILE_NAME: Final = "kernel-status.toml"
DEFAULT_REVISION: Final = "main"
MAX_BYTES: Final = 64 * 1024
"""More than any status needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """A repository's kernel lives somewhere else now."""

    destination: RepoId
    revision: str = DEFAULT_REVISION


def parse(content: str, *, where: str = FILE_NAME) -> Redirect:
    """Read a status file. Unknown keys are left to newer readers.

    Raises:
        StatusError: it is not TOML, of an unknown kind, or leaves out what its kind needs.
    """
    try:
        raw = tomllib.loads(content)
    except (ValueError, RecursionError) as error:
        raise StatusError(f"not valid TOML: {error}", where=where, hint=_HINT) from error
    kind = raw.get("kind")
    if not kind:
        raise StatusError(f"{FILE_NAME} must contain a 'kind' field", where=where, hint=_HINT)
    if kind != "redirect":
        raise StatusError(
            f"Unknown kernel status kind: {kind!r}",
            where=where,
            hint="a newer version of kernelmill may know it; this one knows 'redirect'",
        )
    return _redirect(raw, where)


def dumps(status: Redirect) -> str:
    """Write a status file."""
    values = {
        "kind": "redirect",
        "destination": str(status.destination),
        "revision": status.revision,
    }
    # A JSON string of these characters is also a TOML string.
    lines = (f"{key} = {json.dumps(it, ensure_ascii=False)}\n" for key, it in values.items())
    return "".join(lines)


_HINT: Final = "tell the owner of the repository"


def _redirect(raw: dict[str, object], where: str) -> Redirect:
    destination, revision = raw.get("destination"), raw.get("revision", DEFAULT_REVISION)
    if not destination:
        raise StatusError(
            f"{FILE_NAME} must contain a 'destination' field", where=where, hint=_HINT
        )
    if not isinstance(revision, str) or not revision:
        raise StatusError(f"{revision!r} is not a revision", where=f"{where} revision", hint=_HINT)
    try:
        if not isinstance(destination, str):
            raise InvalidName(f"{destination!r} is not a repository id")
        return Redirect(destination=RepoId.parse(destination), revision=revision)
    except InputError as error:
        raise StatusError(error.problem, where=f"{where} destination", hint=_HINT) from error
