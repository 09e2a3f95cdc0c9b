"""All instructions by mnemonic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.instructions import (
    atomics,
    buffers,
    carries,
    compare,
    control,
    convert,
    floating,
    fp8_convert,
    indexed,
    integers,
    lanes,
    lds,
    lds_loads,
    mfma,
    packed,
    rare,
    salu,
    scalar_memory,
    vector_memory,
)
from kernelmill.emulator.vector import Binder, Vector, bind_vector

if TYPE_CHECKING:
    from kernelmill.emulator.program import Decoded, Layout, Operation

VECTORS: Final[dict[str, Vector]] = {
    **integers.TABLE,
    **floating.TABLE,
    **convert.TABLE,
    **rare.TABLE,
}
"""Vector instructions with one result per lane, from values of the same lane."""


def _bind_table(decoded: Decoded, layout: Layout) -> Operation:
    return bind_vector(decoded, layout, VECTORS[decoded.name])


BINDERS: Final[dict[str, Binder]] = {
    **dict.fromkeys(VECTORS, _bind_table),
    **salu.BINDERS,
    **control.BINDERS,
    **scalar_memory.BINDERS,
    **vector_memory.BINDERS,
    **lds.BINDERS,
    **lds_loads.BINDERS,
    **atomics.BINDERS,
    **buffers.BINDERS,
    **indexed.BINDERS,
    **fp8_convert.BINDERS,
    **rare.BINDERS,
    **carries.BINDERS,
    **compare.BINDERS,
    **lanes.BINDERS,
    **packed.BINDERS,
    **mfma.BINDERS,
}


def bind(decoded: Decoded, layout: Layout) -> Operation | None:
    """Return what ``decoded`` does, or ``None`` if it has no effect on any result.

    Raises:
        UnsupportedInstruction: it is not known, or one of its modifiers is not.
    """
    if decoded.indexed and decoded.name.startswith("v_"):
        return indexed.bind_indexed_move(decoded, layout)
    if decoded.name in control.NO_EFFECT:
        return None
    binder = BINDERS.get(decoded.name)
    if binder is None:
        raise UnsupportedInstruction(f"the instruction {decoded} is not emulated")
    return binder(decoded, layout)
