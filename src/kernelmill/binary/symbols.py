"""What a shared library wants from others, and offers them: the dynamic linker's own view.

Everything is read through ``PT_DYNAMIC`` as ``ld.so`` does, never through section headers, which
a loader ignores. Symbol versions:
https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary._window import Window
from kernelmill.binary.elf import SEGMENT_DYNAMIC, SYMBOL, Elf, Symbol, make_symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TAG_NEEDED: Final = 1
TAG_HASH: Final = 4
TAG_STRTAB: Final = 5
TAG_SYMTAB: Final = 6
TAG_STRSZ: Final = 10
TAG_SONAME: Final = 14
TAG_RPATH: Final = 15
TAG_RUNPATH: Final = 29
TAG_GNU_HASH: Final = 0x6FFFFEF5
TAG_VERSYM: Final = 0x6FFFFFF0
TAG_VERDEF: Final = 0x6FFFFFFC
TAG_VERDEFNUM: Final = 0x6FFFFFFD
TAG_VERNEED: Final = 0x6FFFFFFE
TAG_VERNEEDNUM: Final = 0x6FFFFFFF

DYNAMIC: Final = Struct("<qQ")
WORD: Final = Struct("<I")
HASH: Final = Struct("<II")
GNU_HASH: Final = Struct("<IIII")
VERSION_INDEX: Final = Struct("<H")
VERDEF: Final = Struct("<HHHHIII")
VERDAUX: Final = Struct("<II")
VERNEED: Final = Struct("<HHIII")
VERNAUX: Final = Struct("<IHHII")

VERSION_HIDDEN: Final = 0x8000
VERSION_WEAK: Final = 2
"""The flag of a version whose absence the dynamic linker overlooks."""
FIRST_NAMED_VERSION: Final = 2
"""Version numbers 0 (local) and 1 (global, unversioned) name nothing."""
BIND_LOCAL: Final = 0
BIND_WEAK: Final = 2

_NUMBERED = re.compile(r"(?P<family>[A-Z_]+[A-Z])_(?P<number>\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Reference:
    """A symbol with its version: one that is wanted, or one that is offered."""

    name: str
    version: str
    """For example ``GLIBC_2.14``; empty for an unversioned symbol."""
    library: str
    """The soname that must bring the version; empty when unversioned or offered here."""
    is_weak: bool

    def __str__(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage:
    """The dynamic section of one library."""

    soname: str
    needed: tuple[str, ...]
    """``DT_NEEDED``, in file order, which is the loader's."""
    runpath: tuple[str, ...]
    rpath: tuple[str, ...]
    undefined: tuple[Reference, ...]
    """Sorted."""
    defined: tuple[Reference, ...]
    """Sorted."""
    needed_versions: tuple[str, ...] = ()
    """Sorted; also those that no symbol wants, such as ``GLIBC_ABI_DT_RELR``."""

    @property
    def version_floors(self) -> Mapping[str, tuple[int, ...]]:
        """Return the highest version wanted of each family, such as ``GLIBC: (2, 34)``."""
        return highest_versions(reference.version for reference in self.undefined)


def highest_versions(versions: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return family -> highest number. ``GLIBC_PRIVATE`` and unnumbered versions are left out."""
    highest: dict[str, tuple[int, ...]] = {}
    for version in versions:
        if match := _NUMBERED.fullmatch(version):
            number = tuple(map(int, match["number"].split(".")))
            highest[match["family"]] = max(number, highest.get(match["family"], ()))
    return dict(sorted(highest.items()))


def read_linkage(elf: Elf) -> Linkage:
    """Return what the dynamic linker reads in ``elf``; all empty for an object or static program.

    Raises:
        BinaryError: the dynamic section contradicts the file.
    """
    entries = list(_dynamic_entries(elf))
    table = dict(entries)
    names = _strings(elf, table)

    def texts(tag: int) -> tuple[str, ...]:
        return tuple(names.text(value, "a dynamic string") for key, value in entries if key == tag)

    def paths(tag: int) -> tuple[str, ...]:
        return tuple(path for text in texts(tag) for path in text.split(":"))

    references = list(_references(elf, table, names))
    return Linkage(
        soname=names.text(table[TAG_SONAME], "a dynamic string") if TAG_SONAME in table else "",
        needed=texts(TAG_NEEDED),
        runpath=paths(TAG_RUNPATH),
        rpath=paths(TAG_RPATH),
        undefined=tuple(sorted(ref for is_defined, ref in references if not is_defined)),
        defined=tuple(sorted(ref for is_defined, ref in references if is_defined)),
        needed_versions=tuple(sorted({it for _, it, _ in _needed_versions(elf, table, names)})),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A symbol that a library offers, as a linker sees it."""

    name: str
    version: str
    kind: int
    """``STT_FUNC`` 2, ``STT_OBJECT`` 1, ``STT_TLS`` 6 and others."""
    is_weak: bool
    size: int
    is_default: bool
    """Whether a use without a version is bound to this one."""


def read_soname(elf: Elf) -> str:
    """Return the name that a library gives itself; empty when it gives none."""
    table = dict(_dynamic_entries(elf))
    if TAG_SONAME not in table:
        return ""
    return _strings(elf, table).text(table[TAG_SONAME], "a dynamic string")


def read_exports(elf: Elf) -> tuple[Export, ...]:
    """Return what ``elf`` offers to others, in the order of its table.

    Raises:
        BinaryError: the dynamic section contradicts the file.
    """
    table = dict(_dynamic_entries(elf))
    names = _strings(elf, table)
    versions = _version_names(elf, table, names)
    symbols = _dynamic_symbols(elf, table, names)
    indices = _version_indices(elf, table, len(symbols))
    return tuple(
        Export(
            name=symbol.name,
            version=_named_version(index & ~VERSION_HIDDEN, versions),
            kind=symbol.kind,
            is_weak=symbol.binding == BIND_WEAK,
            size=symbol.size,
            is_default=not index & VERSION_HIDDEN,
        )
        for symbol, index in zip(symbols, indices, strict=True)
        if symbol.section and symbol.binding != BIND_LOCAL and symbol.name
    )


def _named_version(number: int, versions: Mapping[int, tuple[str, str]]) -> str:
    return versions.get(number, ("", ""))[0] if number >= FIRST_NAMED_VERSION else ""


def read_needed_versions(elf: Elf) -> tuple[str, ...]:
    """Return the symbol versions that ``elf`` cannot do without, such as ``GLIBC_2.34``.

    Reads no symbol, so it takes a fraction of ``read_linkage``.

    Raises:
        BinaryError: the dynamic section contradicts the file.
    """
    table = dict(_dynamic_entries(elf))
    needed = _needed_versions(elf, table, _strings(elf, table), with_weak=False)
    return tuple(version for _, version, _ in needed)


def _dynamic_entries(elf: Elf) -> Iterator[tuple[int, int]]:
    """Yield tag and value in file order. Of a tag that comes twice, ``ld.so`` obeys the last.

    It also obeys the last of several segments, and looks for neither their place in the file nor
    their size, but goes by address, up to the end mark.
    """
    found = [it for it in elf.segments if it.type == SEGMENT_DYNAMIC and it.file_size]
    for segment in found[-1:]:
        what = "the dynamic section"
        position = elf.offset_of(segment.address, what)
        while (entry := elf.window.unpack(DYNAMIC, position, what))[0]:
            yield entry[0], entry[1]
            position += DYNAMIC.size


def _strings(elf: Elf, table: Mapping[int, int]) -> Window:
    if TAG_STRTAB not in table:
        return Window(data=b"", where=elf.where)
    what = "the dynamic string table"
    offset = elf.offset_of(table[TAG_STRTAB], what)
    return elf.window.part(offset, table.get(TAG_STRSZ, 0), what)


def _references(
    elf: Elf, table: Mapping[int, int], names: Window
) -> Iterator[tuple[bool, Reference]]:
    """Yield (is defined here, reference) for each global dynamic symbol."""
    versions = _version_names(elf, table, names)
    symbols = _dynamic_symbols(elf, table, names)
    indices = _version_indices(elf, table, len(symbols))
    for symbol, index in zip(symbols, indices, strict=True):
        number = index & ~VERSION_HIDDEN
        if symbol.binding == BIND_LOCAL or not symbol.name:
            continue
        if number >= FIRST_NAMED_VERSION and number not in versions:
            raise elf.window.fault(
                f"symbol {symbol.name!r} has version {number}, which has no name"
            )
        version, library = versions.get(number, ("", ""))
        yield (
            bool(symbol.section),
            Reference(
                name=symbol.name,
                version=version,
                library=library,
                is_weak=symbol.binding == BIND_WEAK,
            ),
        )


def _dynamic_symbols(elf: Elf, table: Mapping[int, int], names: Window) -> list[Symbol]:
    count = _symbol_count(elf, table)
    if not count or TAG_SYMTAB not in table:
        return []
    offset = elf.offset_of(table[TAG_SYMTAB], "the dynamic symbol table")
    records = elf.window.table(SYMBOL, offset, count, "the dynamic symbol table")
    return [make_symbol(record, names) for record in records]


def _symbol_count(elf: Elf, table: Mapping[int, int]) -> int:
    """Return the number of dynamic symbols, which only the hash tables tell."""
    if TAG_HASH in table:
        offset = elf.offset_of(table[TAG_HASH], "the hash table")
        return elf.window.unpack(HASH, offset, "the hash table")[1]
    if TAG_GNU_HASH not in table:
        return 0
    what = "the GNU hash table"
    window, offset = elf.window, elf.offset_of(table[TAG_GNU_HASH], what)
    buckets, first, bloom_words, _ = window.unpack(GNU_HASH, offset, what)
    start = offset + GNU_HASH.size + 8 * bloom_words
    last = max((value for (value,) in window.table(WORD, start, buckets, what)), default=0)
    if last < first:
        return first  # it hashes nothing: all symbols are undefined ones
    chains = start + WORD.size * buckets
    # The lowest bit marks the end of a chain; the last chain ends with the last symbol.
    while not window.unpack(WORD, chains + WORD.size * (last - first), what)[0] & 1:
        last += 1
    return last + 1


def _version_indices(elf: Elf, table: Mapping[int, int], count: int) -> list[int]:
    if TAG_VERSYM not in table or not count:
        return [1] * count
    what = "the symbol version table"
    offset = elf.offset_of(table[TAG_VERSYM], what)
    return [index for (index,) in elf.window.table(VERSION_INDEX, offset, count, what)]


def _version_names(elf: Elf, table: Mapping[int, int], names: Window) -> dict[int, tuple[str, str]]:
    """Return version number -> (version, library)."""
    versions: dict[int, tuple[str, str]] = {}
    for number, version, library in chain(
        _needed_versions(elf, table, names), _defined_versions(elf, table, names)
    ):
        if number in versions:
            # Also the bound on what a hostile file can make these loops do.
            raise elf.window.fault(f"symbol version number {number} is given twice")
        versions[number] = (version, library)
    return versions


def _needed_versions(
    elf: Elf, table: Mapping[int, int], names: Window, *, with_weak: bool = True
) -> Iterator[tuple[int, str, str]]:
    if TAG_VERNEED not in table:
        return
    what = "the needed versions"
    position = elf.offset_of(table[TAG_VERNEED], what)
    for _ in range(table.get(TAG_VERNEEDNUM, 0)):
        _, count, file, aux, step = elf.window.unpack(VERNEED, position, what)
        library = names.text(file, "a library's name")
        inner = position + aux
        for _ in range(count):
            _, flags, number, name, inner_step = elf.window.unpack(VERNAUX, inner, what)
            if with_weak or not flags & VERSION_WEAK:
                yield number & ~VERSION_HIDDEN, names.text(name, "a version's name"), library
            inner += inner_step
        if not step:
            return
        position += step


def _defined_versions(
    elf: Elf, table: Mapping[int, int], names: Window
) -> Iterator[tuple[int, str, str]]:
    if TAG_VERDEF not in table:
        return
    what = "the defined versions"
    position = elf.offset_of(table[TAG_VERDEF], what)
    for _ in range(table.get(TAG_VERDEFNUM, 0)):
        _, _, number, _, _, aux, step = elf.window.unpack(VERDEF, position, what)
        name, _ = elf.window.unpack(VERDAUX, position + aux, what)
        yield number & ~VERSION_HIDDEN, names.text(name, "a version's name"), ""
        if not step:
            return
        position += step
