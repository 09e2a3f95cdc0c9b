"""The batch call of git-lfs: which objects, and how to move them.

Source: git-lfs, docs/api/batch.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.wire.pointers import SHA256

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.hub.wire.fields import Fields
    from kernelmill.hub.wire.render import Json

MAX_OBJECTS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsObject:
    """A large file by its sha256 and size."""

    oid: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a client wants to move."""

    operation: Literal["upload", "download"]
    transfers: tuple[str, ...]
    objects: tuple[LfsObject, ...]


def parse_batch(body: Fields) -> Batch:
    """Read the call.

    Raises:
        InvalidRequest: it is malformed.
    """
    operation = body.text("operation")
    if operation not in {"upload", "download"}:
        raise InvalidRequest(f"unknown operation {operation!r}: 'upload' or 'download'")
    if body.text("hash_algo", "sha256") != "sha256":
        raise InvalidRequest("'hash_algo' must be 'sha256'")
    objects = tuple(
        LfsObject(oid=each.text("oid"), size_bytes=each.number("size"))
        for each in body.objects("objects")
    )
    if len(objects) > MAX_OBJECTS:
        raise InvalidRequest(f"at most {MAX_OBJECTS} objects may be asked for at once")
    for each in objects:
        if not SHA256.fullmatch(each.oid):
            raise InvalidRequest(f"{each.oid[:80]!r} is not a sha256: 64 lower-case hex digits")
    return Batch(
        operation="upload" if operation == "upload" else "download",
        transfers=tuple(body.texts("transfers")) or ("basic",),
        objects=objects,
    )


def object_json(
    each: LfsObject, *, actions: Mapping[str, Json] | None = None, missing: bool = False
) -> Json:
    """Say what to do about an object; without actions it is there already."""
    row: Json = {"oid": each.oid, "size": each.size_bytes, "authenticated": True}
    if actions:
        row["actions"] = actions
    if missing:
        row["error"] = {"code": 404, "message": "the repository has no such file"}
    return row
