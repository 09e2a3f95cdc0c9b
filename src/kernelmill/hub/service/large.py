"""Read large files, and say who may have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.hub import auth
from kernelmill.hub.errors import EntryNotFound, InvalidRequest
from kernelmill.hub.service.reading import find_entry
from kernelmill.hub.store.large import Audience
from kernelmill.hub.store.names import InMemory
from kernelmill.hub.wire.attributes import parse_attributes
from kernelmill.hub.wire.commits import AddFile, AddLargeFile
from kernelmill.hub.wire.pointers import Pointer, render_pointer
from kernelmill.hub.wire.xorbs import decode, stored_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelmill.hub.service.access import Revision
    from kernelmill.hub.service.hub import Hub
    from kernelmill.hub.service.reading import Entry
    from kernelmill.hub.store.accounts import Bearer
    from kernelmill.hub.store.large import LargeFile, LargeStore
    from kernelmill.hub.store.repos import Repo
    from kernelmill.hub.wire.attributes import Patterns
    from kernelmill.hub.wire.commits import Header, Operation

PIECE_BYTES: Final = 1024 * 1024
ATTRIBUTES_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Chunks of one xorb that a part of a file needs."""

    xorb: int
    start: int
    end: int


def audience(bearer: Bearer | None) -> Audience:
    """Return what an asker may read."""
    return Audience(namespaces=tuple(auth.namespaces(bearer)), sees_all=auth.is_admin(bearer))


def with_large(hub: Hub, revision: Revision, entries: Iterable[Entry]) -> list[Entry]:
    """Fill in what the large files among ``entries`` are.

    A pointer alone gives nothing: the repository must have been given the file.
    """
    rows = list(entries)
    pointers = {e.id: revision.objects.pointer(e.id) for e in rows if not e.is_folder}
    sums = {pointer.sha256 for pointer in pointers.values() if pointer is not None}
    files = hub.large.files_of(revision.repo.id, sums) if sums else {}
    for place, entry in enumerate(rows):
        pointer = pointers.get(entry.id)
        file = files.get(pointer.sha256) if pointer is not None else None
        if pointer is not None and file is not None and file.size_bytes == pointer.size_bytes:
            rows[place] = replace(
                entry, size_bytes=file.size_bytes, pointer_bytes=entry.size_bytes, large=file
            )
    return rows


def read_attributes(revision: Revision) -> Patterns:
    """Return what the revision's ``.gitattributes`` says of large files."""
    try:
        entry = find_entry(revision, ".gitattributes")
    except EntryNotFound:
        return ()
    if entry.is_folder or entry.size_bytes > ATTRIBUTES_BYTES:
        return ()
    text = b"".join(revision.objects.stream(entry.id))
    return parse_attributes(text.decode("utf-8", "replace"))


def claim_large(
    hub: Hub, repo: Repo, bearer: Bearer, lines: Iterable[Header | Operation]
) -> Iterator[Header | Operation]:
    """Turn large files of a commit into the pointers that git stores.

    Raises:
        InvalidRequest: a file was never uploaded to where the asker may read.
    """
    for line in lines:
        if not isinstance(line, AddLargeFile):
            yield line
            continue
        file = hub.large.files_of(repo.id, [line.sha256]).get(line.sha256)
        if file is None:
            file = hub.large.files_for(audience(bearer), [line.sha256]).get(line.sha256)
            if file is not None:
                hub.large.publish(repo.id, links=[line.sha256])
        if file is None:
            raise InvalidRequest(
                f"the content of {line.path!r} was never uploaded: sha256 {line.sha256}"
            )
        if line.size_bytes is not None and line.size_bytes != file.size_bytes:
            raise InvalidRequest(
                f"{line.path!r} has {file.size_bytes} bytes, not {line.size_bytes}"
            )
        text = render_pointer(Pointer(file.sha256, file.size_bytes))
        yield AddFile(path=line.path, content=InMemory(text))


def spans_of(store: LargeStore, name: bytes, wanted: range) -> tuple[int, list[Span]]:
    """Return which chunks hold the bytes ``wanted`` of a file, and how many to skip at first."""
    terms = store.terms(name)
    ends = np.cumsum(terms["size"], dtype=np.int64)
    first = int(np.searchsorted(ends, wanted.start, side="right"))
    last = int(np.searchsorted(ends, wanted.stop, side="left"))
    skip = 0
    spans = []
    for place in range(first, min(last + 1, len(terms))):
        term = terms[place]
        row_id, start, end = int(term["xorb"]), int(term["start"]), int(term["end"])
        offset = int(ends[place]) - int(term["size"])
        chunk_ends = offset + np.cumsum(store.xorb(row_id).index.sizes[start:end])
        low = int(np.searchsorted(chunk_ends, wanted.start, side="right"))
        high = int(np.searchsorted(chunk_ends, wanted.stop, side="left"))
        if place == first:
            skip = wanted.start - (int(chunk_ends[low - 1]) if low else offset)
        spans.append(Span(xorb=row_id, start=start + low, end=min(start + high + 1, end)))
    return skip, spans


def stream_file(store: LargeStore, file: LargeFile, wanted: range) -> Iterator[bytes]:
    """Yield the bytes ``wanted`` of a file, in pieces of about a mebibyte."""
    if not wanted:
        return
    skip, spans = spans_of(store, file.hash, wanted)
    left = len(wanted)
    pending = bytearray()
    for data in (data for span in spans for data in stream_span(store, span)):
        piece = data[skip : skip + left]
        skip = 0
        left -= len(piece)
        pending += piece
        if len(pending) >= PIECE_BYTES or not left:
            yield bytes(pending)
            pending.clear()


def stream_span(store: LargeStore, span: Span) -> Iterator[bytes | memoryview]:
    """Yield each chunk of a span."""
    xorb = store.xorb(span.xorb)
    place = xorb.index.place(span.start, span.end)
    view = store.open_xorb(xorb.key)[: place.stop]
    for chunk in stored_chunks(view, place.start):
        yield decode(view, chunk)
