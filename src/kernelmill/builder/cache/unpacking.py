"""Unpack Nix's archive format, which comes from elsewhere: whatever is odd about one is refused.

An SDK is ten thousand files, so this is written to be quick: few calls for each file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import EntryRefused
from kernelmill.builder.sdk.nar import MAGIC

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAX_WORD_BYTES: Final = 4096
"""Names and links are not longer on Linux."""
_MAX_DEPTH: Final = 100
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack_nar(pieces: Iterator[bytes], target: Path, *, where: str) -> None:
    """Make ``target`` what the archive holds: a folder, a file or a link.

    Args:
        pieces: the archive, which is read to its end.
        target: a path that does not exist.
        where: what to call the archive.

    Raises:
        EntryRefused: it is damaged, or holds a name that leads elsewhere.
    """
    reader = _Reader(pieces, where)
    reader.expect(MAGIC)
    _unpack_node(reader, str(target), depth=0)
    if not reader.is_at_end():
        raise reader.refuse("something follows its end")


class _Reader:
    """Words of an archive: a length in eight bytes, and then that, filled up to eights."""

    def __init__(self, pieces: Iterator[bytes], where: str) -> None:
        self._pieces = pieces
        self._where = where
        self._data = b""
        self._at = 0

    def refuse(self, problem: str) -> EntryRefused:
        return EntryRefused(f"damaged archive: {problem}", where=self._where)

    def is_at_end(self) -> bool:
        return self._at == len(self._data) and not any(self._pieces)

    def _need(self, size: int) -> None:
        """Have the next ``size`` bytes in ``_data``, at ``_at``, which may become another place."""
        while len(self._data) - self._at < size:
            piece = next(self._pieces, None)
            if piece is None:
                raise self.refuse("it ends too early")
            self._data, self._at = self._data[self._at :] + piece, 0

    def length(self) -> int:
        self._need(8)
        self._at += 8
        return int.from_bytes(self._data[self._at - 8 : self._at], "little")

    def word(self) -> bytes:
        size = self.length()
        if size > _MAX_WORD_BYTES:
            raise self.refuse(f"a word has {size} bytes")
        self._need(size)
        word = self._data[self._at : self._at + size]
        self._at += size
        self.skip_filling(size)
        return word

    def skip_filling(self, size: int) -> None:
        filling = -size % 8
        self._need(filling)
        if any(self._data[self._at : self._at + filling]):
            raise self.refuse("bytes between words are not zero")
        self._at += filling

    def expect(self, *words: bytes) -> None:
        for wanted in words:
            found = self.word()
            if found != wanted:
                raise self.refuse(f"{found[:40]!r} stands where {wanted!r} should")

    def pass_on(self, size: int, descriptor: int) -> None:
        """Write the next ``size`` bytes to a file."""
        while size:
            self._need(1)
            written = os.write(descriptor, self._data[self._at : self._at + size])
            self._at += written
            size -= written


def _unpack_node(reader: _Reader, target: str, *, depth: int) -> None:
    reader.expect(b"(", b"type")
    kind = reader.word()
    if kind == b"regular":
        _unpack_file(reader, target)
    elif kind == b"symlink":
        reader.expect(b"target")
        link = reader.word()
        if not link or b"\0" in link:
            raise reader.refuse("a link leads to nothing")
        os.symlink(os.fsdecode(link), target)  # noqa: PTH211 - text is quicker than Path here
        reader.expect(b")")
    elif kind == b"directory" and depth < _MAX_DEPTH:
        _unpack_folder(reader, target, depth)
    else:
        raise reader.refuse(f"{kind[:40]!r} at depth {depth}")


def _unpack_file(reader: _Reader, target: str) -> None:
    word, mode = reader.word(), 0o644
    if word == b"executable":
        reader.expect(b"")
        word, mode = reader.word(), 0o755
    descriptor = os.open(target, _NEW_FILE, mode)
    try:
        os.fchmod(descriptor, mode)  # whatever the umask is
        if word == b"contents":
            size = reader.length()
            reader.pass_on(size, descriptor)
            reader.skip_filling(size)
            word = reader.word()
    finally:
        os.close(descriptor)
    if word != b")":
        raise reader.refuse(f"{word[:40]!r} in a file")


def _unpack_folder(reader: _Reader, target: str, depth: int) -> None:
    os.mkdir(target, mode=0o755)  # noqa: PTH102 - as above
    last = b""
    while (word := reader.word()) == b"entry":
        reader.expect(b"(", b"name")
        name = reader.word()
        # Strictly rising, so none is there twice, and none can be reached through a link.
        if name in {b"", b".", b".."} or b"/" in name or b"\0" in name or name <= last:
            raise reader.refuse(f"the name {name[:80]!r} after {last[:80]!r}")
        last = name
        reader.expect(b"node")
        _unpack_node(reader, f"{target}/{os.fsdecode(name)}", depth=depth + 1)
        reader.expect(b")")
    if word != b")":
        raise reader.refuse(f"{word[:40]!r} in a folder")
