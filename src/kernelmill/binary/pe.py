"""Read 64-bit PE: the libraries that a Windows module needs, and what it imports from each.

Format: Microsoft's "PE Format", https://learn.microsoft.com/windows/win32/debug/pe-format. Only the
import table is read.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary._window import Window
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC: Final = b"MZ"
SIGNATURE: Final = b"PE\0\0"
PE32_PLUS: Final = 0x20B
PLACE_OF_SIGNATURE: Final = 0x3C
WORD: Final = Struct("<I")
HALF: Final = Struct("<H")
COFF: Final = Struct("<HHIIIHH")
DIRECTORY: Final = Struct("<II")
DIRECTORIES: Final = 112
"""Where the data directories start in the optional header of a 64-bit file."""
IMPORTS: Final = 1
SECTION: Final = Struct("<8sIIII16x")
DESCRIPTOR: Final = Struct("<IIIII")
THUNK: Final = Struct("<Q")
BY_ORDINAL: Final = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What is taken from one library."""

    library: str
    names: tuple[str, ...]
    """In file order; what is taken by number only is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Image:
    window: Window
    sections: tuple[tuple[int, int, int], ...]
    """(address, size in the file, offset) of each."""

    def offset(self, address: int) -> int:
        for start, size, place in self.sections:
            if start <= address < start + size:
                return place + address - start
        raise self.window.fault(f"no section holds address {address:#x}")


def is_pe(data: bytes) -> bool:
    """Say whether ``data`` starts as a Windows program or library does."""
    return data[:2] == MAGIC


def parse_imports(data: bytes, *, where: str = "") -> tuple[Import, ...]:
    """Return what a module imports, in file order.

    Raises:
        BinaryError: not a 64-bit PE file, or damaged.
    """
    window = Window(data=data, where=where)
    (start,) = window.unpack(WORD, PLACE_OF_SIGNATURE, "the DOS header")
    if not is_pe(data) or window.take(start, 4, "the PE signature") != SIGNATURE:
        raise window.fault("not a PE file")
    coff = start + len(SIGNATURE)
    _, count, _, _, _, size, _ = window.unpack(COFF, coff, "the COFF header")
    optional = coff + COFF.size
    (magic,) = window.unpack(HALF, optional, "the optional header")
    if magic != PE32_PLUS:
        raise window.fault(f"not a 64-bit PE file: {magic:#x}")
    records = window.table(SECTION, optional + size, count, "the section table")
    sections = tuple((address, raw, place) for _, _, address, raw, place in records)
    entry = optional + DIRECTORIES + IMPORTS * DIRECTORY.size
    address, _ = window.unpack(DIRECTORY, entry, "the import directory")
    image = _Image(window=window, sections=sections)
    return tuple(_imports(image, address)) if address else ()


def _imports(image: _Image, address: int) -> Iterator[Import]:
    position = image.offset(address)
    while True:
        lookup, _, _, name, thunks = image.window.unpack(DESCRIPTOR, position, "an import")
        if not name:
            return
        yield Import(
            library=image.window.text(image.offset(name), "a library's name"),
            names=tuple(_names(image, lookup or thunks)),
        )
        position += DESCRIPTOR.size


def _names(image: _Image, address: int) -> Iterator[str]:
    position = image.offset(address)
    while True:
        (thunk,) = image.window.unpack(THUNK, position, "an import's names")
        if not thunk:
            return
        if not thunk & BY_ORDINAL:
            yield image.window.text(image.offset(thunk) + HALF.size, "an imported name")
        position += THUNK.size
