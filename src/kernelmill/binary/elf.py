"""Read 64-bit little-endian ELF: header, segments, sections, symbol tables, notes.

Formats: https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html; what AMD adds:
https://llvm.org/docs/AMDGPUUsage.html#elf-code-object. Every kernel is such a file, on the host
(x86-64, AArch64) as on the device; 32-bit and big-endian files are refused.
"""

from __future__ import annotations

from dataclasses import field
from struct import Struct
from typing import TYPE_CHECKING, Final

from kernelmill.binary._window import Window
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC: Final = b"\x7fELF"
CLASS_64: Final = 2
LITTLE_ENDIAN: Final = 1

MACHINE_AMDGPU: Final = 224

SEGMENT_LOAD: Final = 1
SEGMENT_DYNAMIC: Final = 2
SEGMENT_NOTE: Final = 4

SECTION_SYMTAB: Final = 2
SECTION_NOTE: Final = 7
SECTION_NOBITS: Final = 8
SECTION_DYNSYM: Final = 11

SYMBOL_FUNCTION: Final = 2

HEADER: Final = Struct("<4sBBBBB7xHHIQQQIHHHHHH")
SEGMENT: Final = Struct("<IIQQQQQQ")
SECTION: Final = Struct("<IIQQQQIIQQ")
SYMBOL: Final = Struct("<IBBHQQ")
NOTE: Final = Struct("<III")

# Section number 0xffff means "too large for the header: look in section 0".
EXTENDED_INDEX: Final = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One program header: what the loader maps."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section header; ``name`` is already looked up."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    entry_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """One entry of a symbol table."""

    name: str
    kind: int
    binding: int
    visibility: int
    section: int
    """Number of the section that defines it; 0 for an undefined symbol."""
    address: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One record of a note section."""

    owner: str
    type: int
    description: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """A parsed file. ``data`` is the whole of it."""

    data: bytes = field(repr=False)
    where: str
    type: int
    machine: int
    os_abi: int
    abi_version: int
    flags: int
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]

    @property
    def window(self) -> Window:
        """Return the file for bounds-checked reading."""
        return Window(data=self.data, where=self.where)

    def section(self, name: str) -> Section | None:
        """Return the first section called ``name``."""
        return next((section for section in self.sections if section.name == name), None)

    def content(self, section: Section) -> bytes:
        """Return a section's bytes; nothing for one without bytes in the file (``.bss``)."""
        if section.type == SECTION_NOBITS:
            return b""
        return self.window.take(section.offset, section.size, f"section {section.name!r}")

    def bytes_at(self, address: int, size: int, what: str) -> bytes:
        """Return ``size`` bytes at a loaded ``address``."""
        return self.window.take(self.offset_of(address, what), size, what)

    def offset_of(self, address: int, what: str) -> int:
        """Return where in the file the byte at a loaded ``address`` is."""
        for segment in self.segments:
            position = address - segment.address
            if segment.type == SEGMENT_LOAD and 0 <= position < segment.file_size:
                return segment.offset + position
        raise self.window.fault(
            f"{what} is at address {address:#x}, which no segment loads from the file"
        )

    def symbols(self) -> tuple[Symbol, ...]:
        """Return the symbols of the full table, or of the dynamic one where that was stripped."""
        for wanted in (SECTION_SYMTAB, SECTION_DYNSYM):
            for section in self.sections:
                if section.type == wanted:
                    return self._symbols_of(section)
        return ()

    def _symbols_of(self, section: Section) -> tuple[Symbol, ...]:
        if not section.link < len(self.sections):
            raise self.window.fault(f"section {section.name!r} has no string table")
        names = Window(data=self.content(self.sections[section.link]), where=self.where)
        table = Window(data=self.content(section), where=self.where)
        count = section.size // SYMBOL.size
        records = table.table(SYMBOL, 0, count, f"section {section.name!r}")
        return tuple(make_symbol(record, names) for record in records)

    def notes(self) -> Iterator[Note]:
        """Yield the notes of all note segments, or of the note sections where there are none."""
        places = [(s.offset, s.file_size) for s in self.segments if s.type == SEGMENT_NOTE]
        places = places or [(s.offset, s.size) for s in self.sections if s.type == SECTION_NOTE]
        for offset, size in places:
            data = self.window.take(offset, size, "a note section")
            yield from _read_notes(Window(data=data, where=self.where))


def make_symbol(record: tuple[int, ...], names: Window) -> Symbol:
    """Return the symbol of one ``SYMBOL`` record, its name looked up in ``names``."""
    name, kind_and_binding, visibility, section, address, size = record
    return Symbol(
        name=names.text(name, "a symbol's name"),
        kind=kind_and_binding & 0xF,
        binding=kind_and_binding >> 4,
        visibility=visibility & 3,
        section=section,
        address=address,
        size=size,
    )


def is_elf(data: bytes) -> bool:
    """Say whether ``data`` starts as an ELF file does."""
    return data[:4] == MAGIC


def parse(data: bytes, *, where: str = "") -> Elf:
    """Read an ELF file's headers.

    Raises:
        BinaryError: not an ELF file, not 64-bit little-endian, or damaged.
    """
    window = Window(data=data, where=where)
    if not is_elf(data):
        raise window.fault(f"not an ELF file: it starts with {data[:4]!r}")
    (
        _magic, elf_class, encoding, _, os_abi, abi_version,
        elf_type, machine, _, _entry, segment_offset, section_offset, flags,
        _, segment_size, segment_count, section_size, section_count, names_index,
    ) = window.unpack(HEADER, 0, "the ELF header")  # fmt: skip
    if (elf_class, encoding) != (CLASS_64, LITTLE_ENDIAN):
        raise window.fault(
            f"ELF class {elf_class}, encoding {encoding}: only 64-bit little-endian files are read"
        )
    _check_entry_size(window, "program", segment_count, segment_size, SEGMENT.size)
    _check_entry_size(window, "section", section_offset, section_size, SECTION.size)
    segments = window.table(SEGMENT, segment_offset, segment_count, "the program header table")
    return Elf(
        data=data,
        where=where,
        type=elf_type,
        machine=machine,
        os_abi=os_abi,
        abi_version=abi_version,
        flags=flags,
        segments=tuple(_make_segment(record) for record in segments),
        sections=_read_sections(window, section_offset, section_count, names_index),
    )


def _check_entry_size(window: Window, what: str, present: int, size: int, wanted: int) -> None:
    if present and size != wanted:
        raise window.fault(f"{what} headers have {size} bytes each, want {wanted}")


def _make_segment(record: tuple[int, ...]) -> Segment:
    kind, flags, offset, address, _physical, file_size, memory_size, alignment = record
    return Segment(
        type=kind,
        flags=flags,
        offset=offset,
        address=address,
        file_size=file_size,
        memory_size=memory_size,
        alignment=alignment,
    )


def _read_sections(
    window: Window, offset: int, count: int, names_index: int
) -> tuple[Section, ...]:
    if not offset:
        return ()
    first = window.unpack(SECTION, offset, "the first section header")
    count = count or first[5]
    names_index = first[6] if names_index == EXTENDED_INDEX else names_index
    records = list(window.table(SECTION, offset, count, "the section header table"))
    if not names_index < len(records):
        raise window.fault(
            f"section names are in section {names_index}, but there are {len(records)} sections"
        )
    names_offset, names_size = records[names_index][4:6]
    data = window.take(names_offset, names_size, "the table of section names") or b"\0"
    names = Window(data=data, where=window.where)
    return tuple(_make_section(record, names) for record in records)


def _make_section(record: tuple[int, ...], names: Window) -> Section:
    name, kind, flags, address, offset, size, link, info, _alignment, entry_size = record
    return Section(
        name=names.text(name, "a section's name"),
        type=kind,
        flags=flags,
        address=address,
        offset=offset,
        size=size,
        link=link,
        info=info,
        entry_size=entry_size,
    )


def _read_notes(window: Window) -> Iterator[Note]:
    position = 0
    while position < len(window.data):
        owner_size, size, kind = window.unpack(NOTE, position, "a note's header")
        start = position + NOTE.size
        owner = window.take(start, owner_size, "a note's owner")
        start += _round_up(owner_size)
        yield Note(
            owner=owner.rstrip(b"\0").decode("utf-8", "backslashreplace"),
            type=kind,
            description=window.take(start, size, "a note"),
        )
        position = start + _round_up(size)


def _round_up(size: int) -> int:
    # Notes are padded to 4 bytes; the 8 of .note.gnu.property only says where the section starts.
    return -(-size // 4) * 4
