"""Git pack files: write one, read one.

Source: git's Documentation/gitformat-pack. Our packs hold whole objects only, so each is
self-contained and an object's size stands in its header.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from contextlib import closing
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.pack import (
    load_pack_index_file,
    pack_header_chunks,
    pack_object_header,
    write_pack_index_v2,
)

from kernelmill.hub.store.names import ObjectKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from kernelmill.hub.store.names import Content

CHUNK_BYTES: Final = 256 * 1024
SAMPLE_BYTES: Final = 64 * 1024
LARGE_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPack:
    """A finished pack file and its index."""

    checksum: str
    size_bytes: int
    objects: int
    index: bytes


class PackWriter:
    """Write objects one after another into ``file``, which is at ``path``, new and readable."""

    def __init__(self, file: IO[bytes], path: Path, *, is_known: Callable[[str], bool]) -> None:
        self.path = path
        self._file = file
        self._is_known = is_known
        self._entries: dict[bytes, tuple[int, int]] = {}
        self._write_header()

    def add(self, kind: ObjectKind, content: Content) -> str:
        """Write an object unless the repository has it, and return its id.

        ``content`` is read once, piece by piece, and never held whole.
        """
        digest = hashlib.sha1(b"%s %d\0" % (kind.label, content.size_bytes), usedforsecurity=False)
        offset, crc = self._file.tell(), 0
        for piece in _entry_pieces(kind, content, digest.update):
            crc = zlib.crc32(piece, crc)
            self._file.write(piece)
        raw = digest.digest()
        if raw in self._entries or self._is_known(raw.hex()):
            self._file.seek(offset)
            self._file.truncate()
        else:
            self._entries[raw] = (offset, crc)
        return raw.hex()

    def mark(self) -> int:
        """Return the place to which ``rewind`` may return."""
        return self._file.tell()

    def rewind(self, mark: int) -> None:
        """Drop every object written since ``mark`` was taken."""
        self._file.seek(mark)
        self._file.truncate()
        self._entries = {raw: entry for raw, entry in self._entries.items() if entry[0] < mark}

    def finish(self) -> WrittenPack:
        """Complete header and checksum; after ``rewind`` the writer can go on from a mark."""
        end = self._file.tell()
        self._file.seek(0)
        self._write_header()
        self._file.seek(0)
        digest = hashlib.sha1(usedforsecurity=False)
        while chunk := self._file.read(CHUNK_BYTES):
            digest.update(chunk)
        self._file.seek(end)
        self._file.write(digest.digest())
        self._file.flush()
        index = io.BytesIO()
        rows = sorted((raw, offset, crc) for raw, (offset, crc) in self._entries.items())
        write_pack_index_v2(index, rows, digest.digest())
        return WrittenPack(
            checksum=digest.hexdigest(),
            size_bytes=end + digest.digest_size,
            objects=len(self._entries),
            index=index.getvalue(),
        )

    def _write_header(self) -> None:
        self._file.write(b"".join(pack_header_chunks(len(self._entries))))


def _entry_pieces(
    kind: ObjectKind, content: Content, see: Callable[[bytes], None]
) -> Iterator[bytes]:
    """Yield a pack entry; ``see`` gets the content as it passes, before it is compressed."""
    yield bytes(pack_object_header(kind, None, content.size_bytes, DEFAULT_OBJECT_FORMAT))
    compressor: zlib._Compress | None = None
    for chunk in content.chunks():
        see(chunk)
        if compressor is None:
            compressor = zlib.compressobj(_compression_level(chunk, content.size_bytes))
        yield compressor.compress(chunk)
    yield (compressor or zlib.compressobj()).flush()


def _compression_level(head: bytes, size_bytes: int) -> int:
    """Choose by a sample: code shrinks well, weights do not and only cost time."""
    sample = head[:SAMPLE_BYTES]
    if size_bytes > SAMPLE_BYTES and len(zlib.compress(sample, 1)) > 0.95 * len(sample):
        return 0
    return 1 if size_bytes > LARGE_BYTES else 6


class OpenPack:
    """A pack to read from. It holds no position, so threads may share it."""

    def __init__(self, name: str, data: bytes | memoryview, index: bytes | memoryview) -> None:
        self.name = name
        self._data = memoryview(data)
        self._heap_bytes = len(data) if isinstance(data, bytes) else 0
        parsed = load_pack_index_file(name, io.BytesIO(index), DEFAULT_OBJECT_FORMAT)
        with closing(parsed):
            self._offsets = {bytes(raw): offset for raw, offset, _ in parsed.iterentries()}

    def __contains__(self, raw: bytes) -> bool:
        return raw in self._offsets

    @property
    def raw_ids(self) -> Iterable[bytes]:
        """The 20-byte ids of every object."""
        return self._offsets.keys()

    @property
    def memory_bytes(self) -> int:
        """Roughly what keeping this pack open costs."""
        return self._heap_bytes + 105 * len(self._offsets)

    def header(self, raw: bytes) -> tuple[ObjectKind, int]:
        """Return an object's kind and size; costs nothing but the look-up."""
        kind, size_bytes, _ = self._header_at(self._offsets[raw])
        return kind, size_bytes

    def read(self, raw: bytes) -> bytes:
        """Return an object's whole content."""
        return b"".join(self.stream(raw))

    def stream(self, raw: bytes) -> Iterator[bytes]:
        """Yield an object's content in pieces of at most ``CHUNK_BYTES``."""
        _, missing, start = self._header_at(self._offsets[raw])
        inflate = zlib.decompressobj()
        pending: bytes | memoryview = b""
        while missing:
            if not pending:
                # Short reads for short objects: zlib copies what it is given and does not use.
                pending = self._data[start : start + min(CHUNK_BYTES, missing + 1024)]
                start += len(pending)
            piece = inflate.decompress(pending, min(CHUNK_BYTES, missing))
            if not piece and not pending:
                raise EOFError(f"pack {self.name} ends inside an object")
            pending = inflate.unconsumed_tail
            missing -= len(piece)
            if piece:
                yield piece

    def _header_at(self, offset: int) -> tuple[ObjectKind, int, int]:
        byte = self._data[offset]
        kind, size_bytes, shift = (byte >> 4) & 7, byte & 15, 4
        while byte & 0x80:
            offset += 1
            byte = self._data[offset]
            size_bytes |= (byte & 0x7F) << shift
            shift += 7
        return ObjectKind(kind), size_bytes, offset + 1
