"""Cut machine code into blocks and bind every instruction, before anything runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelmill.binary.disassembly import disassemble
from kernelmill.emulator.errors import DeviceFault, UnsupportedInstruction
from kernelmill.emulator.instructions import indexed
from kernelmill.emulator.instructions.control import bind_end, sets_mode
from kernelmill.emulator.instructions.mfma import parse_shape
from kernelmill.emulator.instructions.table import bind
from kernelmill.emulator.lines import Lines
from kernelmill.emulator.program import Block, Decoded, End, Layout, decode, find_leaders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.binary.code_object import CodeObject
    from kernelmill.binary.elf import Symbol
    from kernelmill.emulator.program import Operation

FUNCTION: int = 2
"""Symbol type of code."""


class Blocks:
    """The code of one kernel and of the functions that it calls."""

    def __init__(self, code_object: CodeObject, layout: Layout) -> None:
        self.layout = layout
        self.lines = Lines(code_object)
        self._code_object = code_object
        self._decoded: dict[int, Decoded] = {}
        self._leaders: set[int] = set()
        self._blocks: dict[int, Block] = {}
        self._barriers: dict[int, Decoded] = {}

    def add(self, address: int, size_bytes: int) -> None:
        """Decode and bind all code from ``address`` on.

        Raises:
            UnsupportedInstruction: an instruction is not known.
        """
        elf = self._code_object.elf
        code = elf.bytes_at(address, size_bytes, f"the code at {address:#x}")
        decoded = [
            decode(item)
            for item in disassemble(code, target=self._code_object.target, address=address)
        ]
        decoded = mark_indexed(decoded)
        if any(map(sets_mode, decoded)):
            self.layout = replace(self.layout, watches_mode=True)
        self._decoded |= {item.instruction.address: item for item in decoded}
        self._leaders |= find_leaders(decoded)
        for start in self._starts(decoded):
            self.block(start)

    def _starts(self, decoded: Sequence[Decoded]) -> list[int]:
        starts, is_start = [], True
        for item in decoded:
            if is_start or item.instruction.address in self._leaders:
                starts.append(item.instruction.address)
            is_start = bind_end(item) is not None
        return starts

    def block(self, address: int) -> Block:
        """Return the block that begins at ``address``.

        Raises:
            DeviceFault: there is no code.
        """
        known = self._blocks.get(address)
        if known is None:
            if address not in self._decoded:
                self._add_function(address)
            known = self._blocks[address] = self._build(address)
        return known

    @property
    def built(self) -> Sequence[Block]:
        """Return all blocks there are."""
        return tuple(self._blocks.values())

    def barrier_before(self, address: int) -> Decoded | None:
        """Return the barrier after which waves go on at ``address``."""
        return self._barriers.get(address)

    def _add_function(self, address: int) -> None:
        for symbol in self._code_object.elf.symbols():
            if _holds(symbol, address):
                self.add(symbol.address, symbol.size)
                return
        raise DeviceFault(f"a jump to {address:#x}, where there is no code")

    def _build(self, address: int) -> Block:
        decoded: list[Decoded] = []
        place = address
        end = None
        while end is None:
            item = self._decoded.get(place)
            if item is None:
                raise DeviceFault(f"the code runs past its end at {place:#x}")
            decoded.append(item)
            end = bind_end(item)
            if end is not None and end.kind == "barrier":
                self._barriers[end.following] = item
            place = item.next_address
            if end is None and place in self._leaders:
                end = End(kind="next", following=place)
        inner = decoded if end.kind == "next" else decoded[:-1]
        bound = [self._bind(item) for item in share_fragments(inner)]
        return Block(
            address=address,
            decoded=tuple(decoded),
            operations=[operation for operation in bound if operation is not None],
            end=end,
        )

    def _bind(self, item: Decoded) -> Operation | None:
        try:
            return bind(item, self.layout)
        except UnsupportedInstruction as error:
            source = self.lines.find(item.instruction.address)
            raise UnsupportedInstruction(error.problem, where=source) from error


def _holds(symbol: Symbol, address: int) -> bool:
    is_code = symbol.kind == FUNCTION and symbol.section
    return bool(is_code) and symbol.address <= address < symbol.address + symbol.size


def mark_indexed(code: Sequence[Decoded]) -> list[Decoded]:
    """Mark the instructions whose register numbers ``s_set_gpr_idx_on`` makes relative.

    Compilers switch it on and off in one straight line, so that the text tells.
    """
    roles: frozenset[str] = frozenset()
    marked = []
    for item in code:
        if item.name in indexed.STARTS:
            roles = indexed.indexed_roles(item)
        elif item.name == indexed.STOP:
            roles = frozenset()
        marked.append(replace(item, indexed=roles) if roles else item)
    return marked


def share_fragments(code: Sequence[Decoded]) -> list[Decoded]:
    """Give matrix instructions that read the same unchanged registers the same keys.

    Each operand is decoded from FP8 or float16 once, though several instructions of the block
    multiply it.
    """
    changes: dict[tuple[str, int], int] = {}
    keys: dict[object, int] = {}
    result = []
    for place, item in enumerate(code, 1):
        shape = parse_shape(item.name)
        if shape is not None and not shape.is_sparse and "blgp" not in item.modifiers:
            found = []
            for operand, kind in zip(item.operands[1:3], (shape.first, shape.second), strict=True):
                registers = [(operand.kind, operand.index + i) for i in range(operand.count)]
                age = tuple(changes.get(register, 0) for register in registers)
                key = (operand.kind, operand.index, kind, shape.rows, shape.depth, age)
                found.append(keys.setdefault(key, len(keys) + 1))
            result.append(replace(item, fragments=tuple(found)))
        else:
            result.append(item)
        for operand in item.operands[: 2 if item.name == "v_swap_b32" else 1]:
            for i in range(operand.count):
                changes[operand.kind, operand.index + i] = place
    return result
