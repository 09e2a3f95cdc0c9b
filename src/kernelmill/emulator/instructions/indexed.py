"""Registers chosen at run time: ``s_movrel``, and moves under ``s_set_gpr_idx_on``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.instructions.salu import bind_result
from kernelmill.emulator.registers import M0, Waves
from kernelmill.emulator.sources import bind_scalar, bind_source, vector_index

if TYPE_CHECKING:
    from kernelmill.emulator.program import Decoded, Layout, Operation
    from kernelmill.emulator.vector import Binder

INDEX: Final = np.uint32(0xFF)
MOVES: Final = frozenset({"v_mov_b32"})
STARTS: Final = frozenset({"s_set_gpr_idx_on", "s_set_gpr_idx_mode"})
STOP: Final = "s_set_gpr_idx_off"


def _bind_scalar_relative(*, is_source: bool, words: int) -> Binder:
    """Bind ``s_movrels`` (source) and ``s_movreld`` (destination): a register number plus M0."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        del layout
        target, source = decoded.operands
        read = None if is_source else bind_scalar(source, f"b{32 * words}", decoded)
        write = bind_result(target, f"b{32 * words}", decoded) if is_source else None

        def run(w: Waves) -> None:
            pairs, scalars = w.registers.pairs, w.registers.scalars
            base = source.index if is_source else target.index
            chosen = base + w.scalar(M0).astype(np.int64)
            if words == 1:
                place = (chosen >> 1, w.indices, chosen & 1)
                if write is not None:
                    write(w, scalars[place])
                elif read is not None:
                    scalars[place] = read(w)
            elif write is not None:
                write(w, pairs[chosen >> 1, w.indices])
            elif read is not None:
                pairs[chosen >> 1, w.indices] = read(w)

        return run

    return bind


def _bind_index_on(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``s_set_gpr_idx_on``: the index goes to M0."""
    del layout
    read = bind_scalar(decoded.operands[0], "u32", decoded)

    def run(w: Waves) -> None:
        w.put_scalar(M0, (w.scalar(M0) & ~INDEX) | (read(w) & INDEX))

    return run


def indexed_roles(decoded: Decoded) -> frozenset[str]:
    """Return ``SRC0``, ``SRC1``, ``SRC2``, ``DST`` as ``gpr_idx(...)`` names them."""
    text = decoded.operands[-1].text
    inner = text.removeprefix("gpr_idx(").removesuffix(")")
    return frozenset(part.strip() for part in inner.split(",") if part.strip())


def bind_indexed_move(decoded: Decoded, layout: Layout) -> Operation:
    """Bind a move inside such a region; ``decoded.indexed`` says which operand is relative.

    Raises:
        UnsupportedInstruction: another vector instruction is used there.
    """
    if decoded.name not in MOVES:
        raise UnsupportedInstruction(f"{decoded}: not emulated while registers are indexed")
    target, source = decoded.operands
    index = vector_index(target, layout, decoded)
    is_relative = "SRC0" in decoded.indexed and source.kind == "vector"
    read = bind_source(source, "b32", layout, decoded)
    moves_target = "DST" in decoded.indexed

    def run(w: Waves) -> None:
        vectors = w.registers.vectors
        place = (w.scalar(M0) & INDEX).astype(np.int64)
        value = vectors[source.index + place, w.indices] if is_relative else read(w)
        if not moves_target:
            w.put(index, value)
            return
        chosen = index + place
        old = vectors[chosen, w.indices]
        vectors[chosen, w.indices] = np.where(w.lanes, value, old)

    return run


BINDERS: Final[dict[str, Binder]] = {
    "s_movrels_b32": _bind_scalar_relative(is_source=True, words=1),
    "s_movrels_b64": _bind_scalar_relative(is_source=True, words=2),
    "s_movreld_b32": _bind_scalar_relative(is_source=False, words=1),
    "s_movreld_b64": _bind_scalar_relative(is_source=False, words=2),
    "s_set_gpr_idx_on": _bind_index_on,
    "s_set_gpr_idx_idx": _bind_index_on,
}
