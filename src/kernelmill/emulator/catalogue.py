"""The instruction set of gfx942 as LLVM's disassembler knows it.

LLVM prints no list, so every opcode of every encoding is tried with a few operand fields. Source:
AMD's "Instinct MI300 Instruction Set Architecture", chapter 13.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Final

from kernelmill.binary.disassembly import Instruction, disassemble
from kernelmill.binary.errors import BinaryError
from kernelmill.emulator.instructions.control import NO_EFFECT, PLAIN_ENDS
from kernelmill.emulator.instructions.table import BINDERS
from kernelmill.emulator.program import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET: Final = "gfx942"
V: Final = 256
"""In source fields of 9 bits, vector registers begin here."""
SDWA: Final = 0xF9
DPP: Final = 0xFA
NO_REGISTER: Final = 0x7F
"""The scalar address field of a global access without one."""
_INVALID = "/*Invalid"

Words = tuple[int, ...]


def _scalar_forms() -> Iterator[Words]:
    for opcode in range(256):
        yield (0xBE80_0000 | 2 << 16 | opcode << 8 | 4,)  # SOP1
    for opcode in range(0x60):
        yield (0x8000_0000 | opcode << 23 | 2 << 16 | 6 << 8 | 4,)  # SOP2
    for opcode in range(128):
        yield (0xBF00_0000 | opcode << 16 | 6 << 8 | 4,)  # SOPC
        yield (0xBF80_0000 | opcode << 16,)  # SOPP
    for opcode in range(32):
        yield (0xB000_0000 | opcode << 23 | 2 << 16 | 5, 0)  # SOPK
    for opcode, immediate, data in product(range(256), (0, 1), (0, 4)):
        yield (0xC000_0000 | opcode << 18 | immediate << 17 | data << 6 | 2, 0x10 * immediate)


def _short_vector_forms() -> Iterator[Words]:
    """VOP1, VOP2 and VOPC, plain, with SDWA and with DPP."""
    sources = ((V + 4, 0), (SDWA, 0x0606_0604), (DPP, 0xFF00_E404))
    for source, extra in sources:
        for opcode in range(256):
            yield (0x7E00_0000 | 2 << 17 | opcode << 9 | source, extra)
            yield (0x7C00_0000 | opcode << 17 | 6 << 9 | source, extra)
        for opcode in range(62):
            yield (opcode << 25 | 2 << 17 | 6 << 9 | source, extra)


def _long_vector_forms() -> Iterator[Words]:
    """VOP3 with one, two and three sources, vector and scalar ones; VOP3P and matrix forms."""
    sources = (
        (V + 4, V + 6, V + 8), (V + 4, V + 6, 10), (V + 4, V + 6, 0), (V + 4, 6, 0),
        (V + 4, 0, 0), (4, 6, 8), (4, 6, 0), (4, 0, 0), (0, 0, 0),
    )  # fmt: skip
    for opcode, (first, second, third), carry in product(range(1024), sources, (0, 10)):
        yield (
            0xD000_0000 | opcode << 16 | carry << 8 | 2,
            third << 18 | second << 9 | first,
        )
    matrix = ((V + 6, V + 8, V + 10), (V + 6, V + 8, 0), (V + 6, 0, 0), (V + 64, V + 8, V + 32))
    modifiers = ((0, 0), (0x4000, 0x1800_0000), (0, 0x0800_0000))
    for opcode, (a, b, c), (low, high) in product(range(128), matrix, modifiers):
        yield (0xD380_0000 | opcode << 16 | low | 2, high | c << 18 | b << 9 | a)


def _memory_forms() -> Iterator[Words]:
    fields = (0, 2, 0x402, 0x6_0402)  # which of address, data, second data are used
    for opcode, field, result in product(range(256), fields, (0, 8 << 24)):
        yield (0xD800_0000 | opcode << 17, result | field)  # DS
    bases = (NO_REGISTER << 16, 2 << 16, 0)
    for opcode, segment, scope, base in product(range(128), range(3), (0, 1), bases):
        for registers in (8 << 24 | 4, 8 << 24 | 6 << 8 | 4, 6 << 8 | 4, 6 << 8, 4):
            yield (0xDC00_0000 | opcode << 18 | segment << 14 | scope << 16, base | registers)
    for opcode, scope in product(range(128), (0, 1)):
        yield (0xE000_0000 | opcode << 18 | scope << 15, 0)  # MUBUF that orders caches
    for opcode, to_lds in product(range(128), (0, 1)):
        yield (0xE000_0000 | opcode << 18 | 1 << 12 | to_lds << 16, 0x8001_0604)  # MUBUF
    for opcode in range(16):
        yield (0xE800_0000 | opcode << 15 | 1 << 19 | 1 << 12, 0x8001_0604)  # MTBUF


def _decode_one(words: Words) -> Instruction | None:
    padding = (0,) * 4
    code = b"".join(word.to_bytes(4, "little") for word in (*words, *padding))
    try:
        found = next(disassemble(code, target=TARGET), None)
    except BinaryError:
        return None
    return found if found and _INVALID not in str(found) else None


@cache
def read_instructions() -> dict[str, Instruction]:
    """Return an example of every instruction, by its mnemonic with the encoding's suffix."""
    found: dict[str, Instruction] = {}
    for forms in (_scalar_forms, _short_vector_forms, _long_vector_forms, _memory_forms):
        for words in forms():
            example = _decode_one(words)
            if example is not None:
                found.setdefault(example.mnemonic, example)
    return dict(sorted(found.items()))


def read_names() -> tuple[str, ...]:
    """Return the mnemonics of gfx942 without suffixes for encodings, sorted."""
    return tuple(sorted({decode(example).name for example in read_instructions().values()}))


def is_emulated(name: str) -> bool:
    """Say whether an instruction is emulated, or has no effect that matters."""
    is_branch = re.fullmatch(r"s_(cbranch_(?!\w+_fork|join).*|setpc_b64|swappc_b64|call_b64)", name)
    return name in BINDERS or name in NO_EFFECT or name in PLAIN_ENDS or bool(is_branch)
