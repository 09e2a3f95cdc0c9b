"""Link stubs: shared libraries with a name, symbols and their versions, and nothing behind them.

The file is written here byte by byte, not by a linker: so it is the same on every machine. A linker
reads it as it reads the real library; nothing can run it.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from kernelmill.binary.elf import (
    HEADER,
    LITTLE_ENDIAN,
    MAGIC,
    SECTION,
    SEGMENT,
    SYMBOL,
    SYMBOL_FUNCTION,
)
from kernelmill.binary.symbols import (
    DYNAMIC,
    VERDAUX,
    VERDEF,
    VERSION_HIDDEN,
    VERSION_INDEX,
    WORD,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

X86_64: Final = 62
AARCH64: Final = 183
FUNCTION: Final = SYMBOL_FUNCTION
OBJECT: Final = 1
TLS: Final = 6
_INDIRECT: Final = 10
_WEAK: Final = 2
_UNIQUE: Final = 10
_GLOBAL: Final = 1
_SLOT_BYTES: Final = 16
"""Between two symbols: no two are one, or the linker would take a weak one for its neighbour."""
_START: Final = 0x10000000


@dataclass(frozen=True, slots=True, order=True)
class StubSymbol:
    """A symbol that a library offers."""

    name: str
    version: str = ""
    kind: int = FUNCTION
    """Function, object or thread-local object: the linker compares it with the use."""
    is_weak: bool = False
    size: int = 0
    is_default: bool = True
    """Whether a use without a version means this one."""


def write_stub(soname: str, symbols: Iterable[StubSymbol], *, machine: int = X86_64) -> bytes:
    """Return the library. The same arguments give the same bytes."""
    ordered = sorted(symbols, key=attrgetter("name", "version", "kind"))
    strings = _Strings()
    versions = list(dict.fromkeys(it.version for it in ordered if it.version))
    parts: dict[str, bytes] = {
        ".hash": _hash_table(len(ordered) + 1),
        ".dynsym": _symbol_table(ordered, strings),
    }
    if versions:
        numbers = {version: index for index, version in enumerate(versions, start=2)}
        parts[".gnu.version"] = _version_table(ordered, numbers)
        parts[".gnu.version_d"] = _version_definitions(soname, numbers, strings)
    soname_offset = strings.add(soname)
    parts[".dynstr"] = bytes(strings.content)
    return _assemble(parts, soname_offset, len(versions) + 1, len(ordered), machine)


class _Strings:
    """A table of strings, each ending in a zero byte."""

    def __init__(self) -> None:
        self.content = bytearray(1)
        self._offsets: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        if text not in self._offsets:
            self._offsets[text] = len(self.content)
            self.content += text.encode() + b"\0"
        return self._offsets[text]


_NOBITS: Final = (".text", ".bss", ".tbss")
_FIRST: Final = 1
"""The number of the first section; ``_NOBITS`` come first, in this order."""


def _symbol_table(symbols: list[StubSymbol], strings: _Strings) -> bytes:
    sections = {FUNCTION: _FIRST, OBJECT: _FIRST + 1, TLS: _FIRST + 2}
    table = bytearray(SYMBOL.size)
    for index, it in enumerate(symbols):
        kind = it.kind if it.kind in sections else FUNCTION if it.kind == _INDIRECT else OBJECT
        info = (_WEAK if it.is_weak else _GLOBAL) << 4 | kind
        address = index * _SLOT_BYTES + (0 if kind == TLS else _START)
        table += SYMBOL.pack(strings.add(it.name), info, 0, sections[kind], address, it.size)
    return bytes(table)


def _hash_table(count: int) -> bytes:
    """Return a table with one chain of all symbols: right for every name, if slow."""
    chain = [*range(2, count), 0] if count > 1 else []
    words = [1, count, 1 if count > 1 else 0, 0, *chain]
    return b"".join(map(WORD.pack, words))


def _version_table(symbols: list[StubSymbol], numbers: Mapping[str, int]) -> bytes:
    table = bytearray(VERSION_INDEX.size)
    for it in symbols:
        number = numbers[it.version] if it.version else 1
        table += VERSION_INDEX.pack(number if it.is_default else number | VERSION_HIDDEN)
    return bytes(table)


def _version_definitions(soname: str, numbers: Mapping[str, int], strings: _Strings) -> bytes:
    names = [(soname, 1), *numbers.items()]
    table = bytearray()
    for name, number in names:
        # By number: a library may have a version of its own name, as CUDA's runtime has.
        following = 0 if number == names[-1][1] else VERDEF.size + VERDAUX.size
        is_base = number == 1
        table += VERDEF.pack(1, is_base, number, 1, elf_hash(name), VERDEF.size, following)
        table += VERDAUX.pack(strings.add(name), 0)
    return bytes(table)


def elf_hash(name: str) -> int:
    """Return the hash of System V's ABI."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value


def _assemble(
    parts: Mapping[str, bytes], soname: int, versions: int, count: int, machine: int
) -> bytes:
    """Lay the parts out behind the header, with the tables that describe them."""
    offsets: dict[str, int] = {}
    body = bytearray(HEADER.size + 2 * SEGMENT.size)
    for name, content in parts.items():
        body += bytes(-len(body) % 8)
        offsets[name] = len(body)
        body += content
    body += bytes(-len(body) % 8)
    dynamic_offset = len(body)
    body += _dynamic(parts, offsets, soname, versions)
    dynamic_size = len(body) - dynamic_offset
    names = [*_NOBITS, *parts, ".dynamic", ".shstrtab"]
    names_table = _Strings()
    for name in names:
        names_table.add(name)
    names_offset = len(body)
    body += names_table.content
    body += bytes(-len(body) % 8)
    headers_offset = len(body)
    body += bytes(SECTION.size)
    span = count * _SLOT_BYTES
    for name in names:
        body += _section_header(
            name,
            names_table.add(name),
            offsets=offsets,
            sizes={key: len(content) for key, content in parts.items()},
            index={key: position for position, key in enumerate(names, start=_FIRST)},
            span=span,
            dynamic=(dynamic_offset, dynamic_size),
            strings=(names_offset, len(names_table.content)),
            versions=versions,
        )
    segments = SEGMENT.pack(1, 4, 0, 0, 0, headers_offset, headers_offset, 0x1000)
    segments += SEGMENT.pack(2, 4, *[dynamic_offset] * 3, dynamic_size, dynamic_size, 8)
    header = HEADER.pack(
        MAGIC, 2, LITTLE_ENDIAN, 1, 0, 0, 3, machine, 1, 0, HEADER.size, headers_offset, 0,
        HEADER.size, SEGMENT.size, 2, SECTION.size, len(names) + 1, len(names),
    )  # fmt: skip
    body[: len(header) + len(segments)] = header + segments
    return bytes(body)


def _dynamic(
    parts: Mapping[str, bytes], offsets: Mapping[str, int], soname: int, versions: int
) -> bytes:
    entries = [
        (14, soname),
        (4, offsets[".hash"]),
        (5, offsets[".dynstr"]),
        (6, offsets[".dynsym"]),
        (10, len(parts[".dynstr"])),
        (11, SYMBOL.size),
    ]
    if ".gnu.version" in parts:
        entries += [
            (0x6FFFFFF0, offsets[".gnu.version"]),
            (0x6FFFFFFC, offsets[".gnu.version_d"]),
            (0x6FFFFFFD, versions),
        ]
    return b"".join(DYNAMIC.pack(*entry) for entry in [*entries, (0, 0)])


_ALLOCATED: Final = 2
_WRITABLE: Final = 1


def _section_header(
    name: str,
    name_offset: int,
    *,
    offsets: Mapping[str, int],
    sizes: Mapping[str, int],
    index: Mapping[str, int],
    span: int,
    dynamic: tuple[int, int],
    strings: tuple[int, int],
    versions: int,
) -> bytes:
    # Name -> type, flags, the section it refers to, extra number, entry size.
    kinds = {
        ".text": (8, _ALLOCATED | 4, "", 0, 0),
        ".bss": (8, _ALLOCATED | _WRITABLE, "", 0, 0),
        ".tbss": (8, _ALLOCATED | _WRITABLE | 0x400, "", 0, 0),
        ".hash": (5, _ALLOCATED, ".dynsym", 0, 4),
        ".dynsym": (11, _ALLOCATED, ".dynstr", 1, SYMBOL.size),
        ".gnu.version": (0x6FFFFFFF, _ALLOCATED, ".dynsym", 0, 2),
        ".gnu.version_d": (0x6FFFFFFD, _ALLOCATED, ".dynstr", versions, 0),
        ".dynstr": (3, _ALLOCATED, "", 0, 0),
        ".dynamic": (6, _ALLOCATED, ".dynstr", 0, DYNAMIC.size),
        ".shstrtab": (3, 0, "", 0, 0),
    }
    kind, flags, link, info, entry_size = kinds[name]
    if name in _NOBITS:
        place, size = (0, span) if name == ".tbss" else (_START, span)
        address = place
    else:
        known = {".dynamic": dynamic, ".shstrtab": strings}
        place, size = known.get(name) or (offsets[name], sizes[name])
        address = place if flags else 0
    offset = 0 if name in _NOBITS else place
    return SECTION.pack(
        name_offset, kind, flags, address, offset, size, index.get(link, 0), info, 8, entry_size
    )
