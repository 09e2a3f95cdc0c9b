"""Bugs in machine code: waits that wait for less, barriers and wait states that are gone."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from tests.planted.equivalents import reason
from tests.planted.trial import compile_program, executed_addresses
from tests.planted.values import Bug

from kernelmill.binary.disassembly import MATRIX_PREFIXES, disassemble_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.planted.values import Program

    from kernelmill.binary.disassembly import Instruction

NOP: Final = 0xBF80_0000
"""``s_nop 0``: one wait state."""
WAIT: Final = 0xBF8C_0000
MOST: Final = {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}
"""What waits for nothing. Source: LLVM's "User Guide for AMDGPU Backend", s_waitcnt of gfx9."""
REACH: Final = 12
"""Instructions that may lie between a matrix instruction and the wait states after it."""
_COUNTER = re.compile(r"(vmcnt|expcnt|lgkmcnt)\((\d+)\)")

HAZARDS: Final = frozenset({"mfma-hazard"})
RACES: Final = frozenset({"lds-race"})
EARLY: Final = frozenset({"missing-wait"})


def machine_bugs(program: Program) -> tuple[Bug, ...]:
    """Return the bugs in a program's machine code, of instructions that its launches execute."""
    code = compile_program(program)
    kernel = code.kernels[0]
    instructions = tuple(disassemble_kernel(code, kernel))
    reached = {name: executed_addresses(program, name) for name in program.setups}
    total = Counter(item.mnemonic for item in instructions)
    seen: Counter[str] = Counter()
    found: list[Bug] = []
    for place, instruction in enumerate(instructions):
        mnemonic = instruction.mnemonic
        seen[mnemonic] += 1
        setups = tuple(name for name in reached if instruction.address in reached[name])
        if not setups:
            continue
        which = f"{mnemonic} {seen[mnemonic]} of {total[mnemonic]}"
        text_before = f" ({instruction.operands})" if mnemonic == "s_waitcnt" else ""
        for word, text, kinds in _changes(instructions, place):
            found.append(
                Bug(
                    program=program.name, family="machine code", setups=setups, kinds=kinds,
                    name=f"{which}{text_before} becomes {text}",
                    word=(instruction.address, word),
                    equivalent=reason(program.name, mnemonic, seen[mnemonic]),
                )
            )  # fmt: skip
    return tuple(found)


def _changes(
    instructions: Sequence[Instruction], place: int
) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Yield (new word, its text, kinds of report) for one instruction."""
    instruction = instructions[place]
    if instruction.mnemonic == "s_barrier":
        yield NOP, "s_nop 0", RACES
    elif instruction.mnemonic == "s_nop" and int(instruction.operands, 0) > 0:
        before = instructions[max(place - REACH, 0) : place]
        if any(item.mnemonic.startswith(MATRIX_PREFIXES) for item in before):
            yield NOP, "s_nop 0", HAZARDS
    elif instruction.mnemonic == "s_waitcnt":
        counters = parse_wait(instruction.operands)
        yield encode_wait({}), "a wait for nothing", EARLY
        for name, count in counters.items():
            rest = {other: value for other, value in counters.items() if other != name}
            if rest:
                yield encode_wait(rest), f"a wait without {name}", EARLY
            yield encode_wait({**rest, name: count + 1}), f"a wait with {name}({count + 1})", EARLY


def parse_wait(operands: str) -> dict[str, int]:
    """Return the counters that ``s_waitcnt`` waits for."""
    return {name: int(count) for name, count in _COUNTER.findall(operands)}


def encode_wait(counters: Mapping[str, int]) -> int:
    """Return the word of ``s_waitcnt``; counters that are not named are not waited for."""
    vector, export, scalar = (counters.get(name, most) for name, most in MOST.items())
    return WAIT | (vector & 15) | (vector >> 4) << 14 | export << 4 | scalar << 8
