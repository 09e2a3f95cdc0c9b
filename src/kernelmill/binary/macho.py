"""Read 64-bit Mach-O: the oldest macOS that a binary runs on, and the symbols that it wants.

Format: Apple's ``mach-o/loader.h``, ``mach-o/fat.h`` and ``mach-o/nlist.h``. Only what checks need:
little-endian images (arm64, x86-64), alone or in a universal file.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary._window import Window
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC_64: Final = b"\xcf\xfa\xed\xfe"
MAGIC_FAT: Final = b"\xca\xfe\xba\xbe"
HEADER: Final = Struct("<IIIIIIII")
FAT_COUNT: Final = Struct(">I")
FAT_ENTRY: Final = Struct(">IIIII")
COMMAND: Final = Struct("<II")
BUILD_VERSION: Final = Struct("<IIII")
VERSION_MIN: Final = Struct("<III")
SYMTAB: Final = Struct("<IIIIII")
NLIST: Final = Struct("<IBBHQ")
COMMAND_SYMTAB: Final = 0x2
COMMAND_VERSION_MIN: Final = 0x24
COMMAND_BUILD_VERSION: Final = 0x32
TYPE_STAB: Final = 0xE0
TYPE_MASK: Final = 0x0E
TYPE_EXTERNAL: Final = 0x01


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The code for one CPU."""

    cpu_type: int
    minimum_os: tuple[int, int]
    """``(0, 0)`` when the image does not say."""
    undefined: tuple[str, ...]
    """Sorted, without the underscore that every C name has here."""


def is_macho(data: bytes) -> bool:
    """Say whether ``data`` starts as a Mach-O image or a universal file does."""
    return data[:4] in {MAGIC_64, MAGIC_FAT}


def parse(data: bytes, *, where: str = "") -> tuple[Image, ...]:
    """Return the images in a file.

    Raises:
        BinaryError: not Mach-O, not 64-bit, or damaged.
    """
    window = Window(data=data, where=where)
    if data[:4] == MAGIC_64:
        return (_image(window),)
    if data[:4] != MAGIC_FAT:
        raise window.fault(f"not a 64-bit Mach-O file: it starts with {data[:4]!r}")
    (count,) = window.unpack(FAT_COUNT, 4, "the count of images")
    records = window.table(FAT_ENTRY, 8, count, "the table of images")
    return tuple(_image(window.part(offset, size, "an image")) for _, _, offset, size, _ in records)


def _image(window: Window) -> Image:
    if window.data[:4] != MAGIC_64:
        raise window.fault(f"not a 64-bit Mach-O image: it starts with {window.data[:4]!r}")
    _, cpu_type, _, _, count, _, _, _ = window.unpack(HEADER, 0, "the header")
    minimum: tuple[int, int] = (0, 0)
    undefined: tuple[str, ...] = ()
    for kind, offset in _commands(window, count):
        if kind == COMMAND_BUILD_VERSION:
            minimum = _version(window.unpack(BUILD_VERSION, offset, "the build version")[3])
        elif kind == COMMAND_VERSION_MIN:
            minimum = _version(window.unpack(VERSION_MIN, offset, "the oldest version")[2])
        elif kind == COMMAND_SYMTAB:
            undefined = tuple(sorted(_undefined(window, offset)))
    return Image(cpu_type=cpu_type, minimum_os=minimum, undefined=undefined)


def _commands(window: Window, count: int) -> Iterator[tuple[int, int]]:
    position = HEADER.size
    for _ in range(count):
        kind, size = window.unpack(COMMAND, position, "a load command")
        if size < COMMAND.size:
            raise window.fault(f"a load command has {size} bytes")
        yield kind, position
        position += size


def _version(packed: int) -> tuple[int, int]:
    return packed >> 16, packed >> 8 & 0xFF


def _undefined(window: Window, offset: int) -> Iterator[str]:
    _, _, place, count, names_place, names_size = window.unpack(SYMTAB, offset, "a symbol table")
    names = window.part(names_place, names_size, "the names of symbols")
    for name, kind, _, _, _ in window.table(NLIST, place, count, "the symbols"):
        is_external = kind & TYPE_EXTERNAL and not kind & TYPE_STAB
        if is_external and not kind & TYPE_MASK:
            yield names.text(name, "a symbol's name").removeprefix("_")
