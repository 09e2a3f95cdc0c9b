"""SDWA: sources and results that are a byte or a half of a register."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.operands import Operand
from kernelmill.emulator.sources import DTYPES, bind_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.program import Decoded, Layout, Reader
    from kernelmill.emulator.registers import Waves

PARTS: Final = {
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8),
    "WORD_0": (0, 16), "WORD_1": (16, 16), "DWORD": (0, 32),
}  # fmt: skip
"""Selection -> (first bit, bits)."""


def bind_selection(
    decoded: Decoded, layout: Layout, place: int, operand: Operand, kind: str
) -> Reader:
    """Return the reader of source ``place`` of an SDWA instruction."""
    if place > 1:  # a destination that is also a source
        return bind_source(operand, kind, layout, decoded)
    offset, width = PARTS[decoded.modifiers.get(f"src{place}_sel", "DWORD")]
    bare = Operand(
        kind=operand.kind, text=operand.text, index=operand.index,
        count=operand.count, value=operand.value,
    )  # fmt: skip
    read = bind_source(bare, "b32", layout, decoded)
    dtype = DTYPES[kind]
    part = np.dtype(f"{'i' if operand.is_sign_extended else 'u'}{width // 8}")

    def select(w: Waves) -> Array:
        cut = (read(w) >> np.uint32(offset)).astype(f"u{width // 8}").view(part)
        whole = cut.astype(f"{part.kind}{dtype.itemsize}").view(dtype)
        if operand.is_absolute:
            whole = np.abs(whole)
        return np.negative(whole) if operand.is_negated else whole

    return select


def bind_merge(decoded: Decoded, index: int) -> Callable[[Waves, Array], None]:
    """Return what writes a result into the part of a register that ``dst_sel`` names."""
    offset, width = PARTS[decoded.modifiers.get("dst_sel", "DWORD")]
    unused = decoded.modifiers.get("dst_unused", "UNUSED_PAD")
    field = np.uint32(((1 << width) - 1) << offset)

    def write(w: Waves, value: Array) -> None:
        whole = np.ascontiguousarray(np.broadcast_to(value, (w.count, LANES)))
        bits = whole.view(f"u{whole.dtype.itemsize}").astype(np.uint32)
        moved = (bits << np.uint32(offset)) & field
        if unused == "UNUSED_PRESERVE":
            moved |= w.word(index) & ~field
        elif unused == "UNUSED_SEXT":
            away = np.uint32(32 - offset - width)
            moved = ((moved << away).view(np.int32) >> away.view(np.int32)).view(np.uint32)
        w.put(index, moved)

    return write
