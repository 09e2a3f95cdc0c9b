"""Read a commit request: one JSON object per line, files as base64.

A file's line may be gigabytes long, so a long line's content is found, cut out and decoded piece
by piece; it is never held whole. Source: facts of the protocol as huggingface_hub 2.4 speaks it.
"""

from __future__ import annotations

import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.hub.errors import InvalidRequest
from kernelmill.hub.store.names import InMemory
from kernelmill.hub.wire.fields import Fields, parse_json
from kernelmill.hub.wire.names import check_path
from kernelmill.hub.wire.pointers import SHA256

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator

    from kernelmill.hub.store.names import Content

LONG_LINE_BYTES: Final = 256 * 1024
PIECE_BYTES: Final = 256 * 1024  # of base64; a multiple of 4
# A quote inside a JSON string is escaped, so this can only be the key itself.
CONTENT_START: Final = re.compile(rb'[{,]\s*"content"\s*:\s*"')
QUOTE: Final = re.compile(rb'"')  # much faster than the mapped body's own find()


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the commit says of itself."""

    summary: str
    description: str
    parent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFile:
    """Write a file."""

    path: str
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class AddLargeFile:
    """Write a file whose content was uploaded before."""

    path: str
    sha256: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Remove a file."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFolder:
    """Remove a folder with everything in it."""

    path: str


Operation = AddFile | AddLargeFile | DeleteFile | DeleteFolder


@dataclass(frozen=True, slots=True)
class Base64Content:
    """Base64 text somewhere in a request's body, decoded when it is read."""

    body: bytes | mmap.mmap
    start: int
    end: int
    where: str

    @property
    def size_bytes(self) -> int:
        """The number of decoded bytes."""
        padding = self.body[max(self.start, self.end - 2) : self.end].count(b"=")
        return (self.end - self.start) // 4 * 3 - padding

    def chunks(self) -> Iterator[bytes]:
        """Yield the decoded bytes."""
        for start in range(self.start, self.end, PIECE_BYTES):
            yield decode_base64(
                self.body[start : min(start + PIECE_BYTES, self.end)], where=self.where
            )


def parse_commit(body: bytes | mmap.mmap) -> Iterator[Header | Operation]:
    """Yield the header, then each operation, in the request's order.

    Raises:
        InvalidRequest: a line is malformed or refused; names the line.
    """
    has_header = False
    for number, (start, end) in enumerate(_lines(body), start=1):
        where = f"line {number}"
        value, content = _parse_line(body, start, end, where=where)
        fields = Fields(value, where=where)
        key, inner = fields.text("key"), fields.nested("value")
        if (key == "header") == has_header:
            raise InvalidRequest("the first line, and only it, must be the header", where=where)
        has_header = True
        yield _header(inner) if key == "header" else _operation(key, inner, content, where=where)
    if not has_header:
        raise InvalidRequest("the commit is empty: its first line must be the header")


def decode_base64(text: bytes, *, where: str) -> bytes:
    """Decode base64 strictly.

    Raises:
        InvalidRequest: it is malformed.
    """
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as error:
        raise InvalidRequest(f"'content' is not valid base64: {error}", where=where) from error


def _lines(body: bytes | mmap.mmap) -> Iterator[tuple[int, int]]:
    start, total = 0, len(body)
    while start < total:
        newline = body.find(b"\n", start)
        end = total if newline < 0 else newline
        if end - start > LONG_LINE_BYTES or body[start:end].strip():
            yield start, end
        start = end + 1


def _parse_line(
    body: bytes | mmap.mmap, start: int, end: int, *, where: str
) -> tuple[object, Base64Content | None]:
    """Read one line; a long one without its content, which is returned as a place in the body."""
    if end - start <= LONG_LINE_BYTES:
        return parse_json(body[start:end], where=where), None
    opening = CONTENT_START.search(body, start, end)
    closing = QUOTE.search(body, opening.end(), end) if opening else None
    if opening is None or closing is None:
        raise InvalidRequest("a long line must hold one base64 'content'", where=where)
    cut_start, cut_end = opening.end(), closing.start()
    if end - start - (cut_end - cut_start) > LONG_LINE_BYTES:
        raise InvalidRequest("the line is too long beside its 'content'", where=where)
    rest = body[start:cut_start] + body[cut_end:end]
    if (cut_end - cut_start) % 4:
        raise InvalidRequest("'content' is not valid base64: wrong length", where=where)
    return parse_json(rest, where=where), Base64Content(body, cut_start, cut_end, where)


def _header(value: Fields) -> Header:
    return Header(
        summary=value.text("summary", ""),
        description=value.text("description", ""),
        parent=value.text("parentCommit") if value.has("parentCommit") else None,
    )


def _operation(key: str, value: Fields, content: Base64Content | None, *, where: str) -> Operation:
    if content is not None and (
        key != "file" or value.text("content") or _encoding(value) != "base64"
    ):
        raise InvalidRequest("a long line must hold one base64 'content'", where=where)
    match key:
        case "file":
            path = check_path(value.text("path"))
            return AddFile(path=path, content=content or _short_content(value, where=where))
        case "deletedFile":
            return DeleteFile(path=check_path(value.text("path")))
        case "deletedFolder":
            return DeleteFolder(path=check_path(value.text("path").rstrip("/")))
        case "lfsFile":
            return _large_file(value, where=where)
        case _:
            raise InvalidRequest(f"unknown operation {key!r}", where=where)


def _large_file(value: Fields, *, where: str) -> AddLargeFile:
    algo, sha256 = value.text("algo", "sha256"), value.text("oid")
    if algo != "sha256" or not SHA256.fullmatch(sha256):
        raise InvalidRequest("'oid' must be a sha256 as 64 lower-case hex digits", where=where)
    return AddLargeFile(
        path=check_path(value.text("path")),
        sha256=sha256,
        size_bytes=value.number("size") if value.has("size") else None,
    )


def _short_content(value: Fields, *, where: str) -> InMemory:
    text = value.text("content").encode("utf-8", "surrogatepass")
    match _encoding(value):
        case "base64":
            return InMemory(decode_base64(text, where=where))
        case "utf-8":
            return InMemory(text)
        case other:
            raise InvalidRequest(f"unknown encoding {other!r}", where=where)


def _encoding(value: Fields) -> str:
    return value.text("encoding", "utf-8")
