"""A code object in memory, as a loader leaves it: segments copied, relocations applied."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.binary.elf import SYMBOL
from kernelmill.emulator.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.binary.code_object import CodeObject
    from kernelmill.emulator.memory import Memory

SEGMENT_LOAD: Final = 1
SECTION_RELA: Final = 4
RELA: Final = Struct("<QQq")
ABSOLUTE_64: Final = 3
RELATIVE_64: Final = 13
"""Relocation types: https://llvm.org/docs/AMDGPUUsage.html#relocation-records."""
PAGE: Final = 4096


class Image:
    """One code object, loaded."""

    def __init__(self, code_object: CodeObject, memory: Memory) -> None:
        self.code_object = code_object
        elf = code_object.elf
        segments = [segment for segment in elf.segments if segment.type == SEGMENT_LOAD]
        end = max((item.address + item.memory_size for item in segments), default=0)
        # One page more: hardware fetches ahead, and so may code that reads its own constants.
        self.address = memory.allocate(end + PAGE, label=f"code object for {code_object.target}")
        octets = memory.view(self.address, end)
        for segment in segments:
            start, size = segment.address, segment.file_size
            content = elf.bytes_at(start, size, "a segment") if size else b""
            octets[start : start + len(content)] = np.frombuffer(content, np.uint8)
            octets[start + len(content) : start + segment.memory_size] = 0
        for place, value in self._relocations():
            octets[place : place + 8].view(np.uint64)[0] = value

    def _relocations(self) -> Iterator[tuple[int, int]]:
        """Yield (address in the code object, host address to store there)."""
        elf = self.code_object.elf
        for section in elf.sections:
            if section.type != SECTION_RELA:
                continue
            table = elf.content(elf.sections[section.link])
            symbols = [record[4] for record in SYMBOL.iter_unpack(table)]
            content = elf.content(section)
            for place, kind, addend in RELA.iter_unpack(content):
                number, type_ = kind >> 32, kind & 0xFFFF_FFFF
                if type_ == RELATIVE_64:
                    yield place, self.address + addend
                elif type_ == ABSOLUTE_64:
                    yield place, self.address + symbols[number] + addend
                else:
                    raise LaunchError(f"relocation type {type_} is not known", where=elf.where)

    def symbol(self, name: str) -> tuple[int, int]:
        """Return host address and size of a global variable.

        Raises:
            LaunchError: there is none of that name.
        """
        for symbol in self.code_object.elf.symbols():
            if symbol.name == name and symbol.section:
                return self.address + symbol.address, symbol.size
        raise LaunchError(f"the code object has no symbol {name!r}")
