"""Source lines of device code, from its debug information."""

from __future__ import annotations

from bisect import bisect_right
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelmill.binary.code_object import CodeObject


class Lines:
    """The line table of one code object; read when the first line is asked for."""

    def __init__(self, code_object: CodeObject) -> None:
        self._code_object = code_object
        self._starts: list[int] = []
        self._places: list[str] = []
        self._is_read = False

    def find(self, address: int) -> str:
        """Return ``file:line`` of the instruction at ``address``, or nothing."""
        if not self._is_read:
            self._is_read = True
            entries = sorted(read_lines(self._code_object))
            self._starts = [start for start, _ in entries]
            self._places = [place for _, place in entries]
        found = bisect_right(self._starts, address) - 1
        return self._places[found] if found >= 0 else ""


def read_lines(code_object: CodeObject) -> Iterator[tuple[int, str]]:
    """Yield (address, ``file:line``) where a new line begins, or nothing where a sequence ends."""
    if code_object.elf.section(".debug_line") is None:
        return
    # Most launches have no finding, and most kernels no debug information.
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415

    dwarf = ELFFile(BytesIO(code_object.elf.data)).get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        first = 0 if program.header.version >= 5 else 1
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            name = program.header.file_entry[state.file - first].name.decode()
            yield (
                state.address,
                "" if state.end_sequence or not state.line else f"{name}:{state.line}",
            )
