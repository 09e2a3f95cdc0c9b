"""Read CUDA's fat binaries: the code for several GPUs in the ``.nv_fatbin`` section of a library.

NVIDIA documents no format. The facts here were read out of what ``nvcc`` 13.0 writes, and agree
with ``cuobjdump``: a header (magic, version, size of itself, size of what follows), then entries,
each with a header of its own that says what it holds, for which architecture, how compressed.
"""

from __future__ import annotations

from dataclasses import field
from struct import Struct
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.binary import elf
from kernelmill.binary._window import Window
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTION_NAMES: Final = (".nv_fatbin", "__nv_relfatbin")
MAGIC: Final = 0xBA55ED50
HEADER: Final = Struct("<IHHQ")
ENTRY: Final = Struct("<HHIQI4xHHI8xQ8xQ")
KINDS: Final[dict[int, Literal["ptx", "sass"]]] = {1: "ptx", 2: "sass"}
FLAG_LZ4: Final = 1 << 13
FLAG_ZSTD: Final = 1 << 15
FLAG_ARCH_SPECIFIC: Final = 1 << 20
FLAG_FAMILY_SPECIFIC: Final = 1 << 21
CUBIN_ABI_OF_CUDA_12: Final = 7
CUBIN_ARCH_SPECIFIC: Final = 0x800
"""In ``e_flags`` of a cubin of CUDA 12 or older; LLVM calls it ``EF_CUDA_ACCELERATORS``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FatEntry:
    """The code for one architecture, as machine code or as PTX."""

    kind: Literal["ptx", "sass", "other"]
    capability: tuple[int, int]
    suffix: Literal["", "a", "f"]
    """``a`` runs on this one architecture only, ``f`` on its family."""
    compression: Literal["", "lz4", "zstd"]
    data: bytes = field(repr=False)
    """As stored: still compressed where ``compression`` says so."""

    @property
    def arch(self) -> str:
        """Return the architecture as metadata writes it: ``9.0a``, or ``12.0+PTX``."""
        major, minor = self.capability
        return f"{major}.{minor}{self.suffix}{'+PTX' if self.kind == 'ptx' else ''}"


def read_fat_entries(data: bytes, *, where: str = "") -> tuple[FatEntry, ...]:
    """Return all CUDA code in ``data``, in file order; nothing for a library that has none.

    Args:
        data: a host library, an object file, or a fat binary by itself.
        where: what errors call it.

    Raises:
        BinaryError: none of the three, or damaged.
    """
    if is_fatbin(data):
        return tuple(parse_section(data, where=where))
    host = elf.parse(data, where=where)
    found: list[FatEntry] = []
    for name in SECTION_NAMES:
        if section := host.section(name):
            found += parse_section(host.content(section), where=f"{where} {name}".lstrip())
    return tuple(found)


def is_fatbin(data: bytes) -> bool:
    """Say whether ``data`` starts as a fat binary does."""
    return data[:4] == MAGIC.to_bytes(4, "little")


def parse_section(data: bytes, *, where: str = "") -> Iterator[FatEntry]:
    """Yield the entries of all fat binaries in a section: the linker puts them one after another.

    Raises:
        BinaryError: something else is in the section, or it is cut short.
    """
    window = Window(data=data, where=where)
    position = 0
    while rest := data[position:].lstrip(b"\0"):
        position = len(data) - len(rest)
        magic, _version, header_size, size = window.unpack(
            HEADER, position, "a fat binary's header"
        )
        if magic != MAGIC:
            raise window.fault(f"not a fat binary at {position:#x}: it starts with {magic:#x}")
        start = position + max(header_size, HEADER.size)
        body = window.take(start, size, "a fat binary")
        yield from _entries(Window(data=body, where=f"{where} +{start:#x}".lstrip()))
        position = start + size


def _entries(window: Window) -> Iterator[FatEntry]:
    position = 0
    while position < len(window.data):
        (
            kind, _version, header_size, size, compressed, _minor, _major, arch, flags, _original,
        ) = window.unpack(ENTRY, position, "a fat binary's entry")  # fmt: skip
        if header_size < ENTRY.size:
            raise window.fault(f"a fat binary's entry has a header of {header_size} bytes")
        payload = window.take(position + header_size, size, "the code of a fat binary's entry")
        compression = _compression(flags)
        if compression and compressed:
            payload = payload[:compressed]
        yield FatEntry(
            kind=KINDS.get(kind, "other"),
            capability=divmod(arch, 10),
            suffix=_suffix(flags, payload),
            compression=compression,
            data=payload,
        )
        position += header_size + size


def _compression(flags: int) -> Literal["", "lz4", "zstd"]:
    if flags & FLAG_ZSTD:
        return "zstd"
    return "lz4" if flags & FLAG_LZ4 else ""


def _suffix(flags: int, payload: bytes) -> Literal["", "a", "f"]:
    if flags & FLAG_FAMILY_SPECIFIC:
        return "f"
    return "a" if flags & FLAG_ARCH_SPECIFIC or _is_specific_cubin(payload) else ""


def _is_specific_cubin(payload: bytes) -> bool:
    """Say whether a cubin of CUDA 12, whose entry has no flag for it, is for one architecture."""
    if not elf.is_elf(payload):
        return False
    cubin = elf.parse(payload)
    is_old = cubin.abi_version == CUBIN_ABI_OF_CUDA_12
    return is_old and bool(cubin.flags & CUBIN_ARCH_SPECIFIC)
