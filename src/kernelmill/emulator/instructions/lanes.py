"""Instructions that look at other lanes, or at registers in an unusual way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.bits import lowest_bit
from kernelmill.emulator.instructions.salu import bind_result
from kernelmill.emulator.sources import bind_scalar, bind_source, vector_index

if TYPE_CHECKING:
    from kernelmill.emulator.program import Decoded, Layout, Operation
    from kernelmill.emulator.registers import Waves
    from kernelmill.emulator.vector import Binder

U32, U64 = np.uint32, np.uint64
LAST: Final = U32(LANES - 1)


def _bind_read_first(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``v_readfirstlane_b32``: of the lowest active lane, or lane 0 if none is."""
    read = bind_source(decoded.operands[1], "b32", layout, decoded)
    write = bind_result(decoded.operands[0], "b32", decoded)

    def run(w: Waves) -> None:
        values = np.broadcast_to(read(w), (w.count, LANES))
        if w.is_full:
            write(w, values[:, 0])
            return
        lane = np.where(w.exec == 0, U32(0), lowest_bit(w.exec)).astype(np.int64)
        write(w, values[np.arange(w.count), lane])

    return run


def _bind_read_lane(decoded: Decoded, layout: Layout) -> Operation:
    read = bind_source(decoded.operands[1], "b32", layout, decoded)
    choose = bind_scalar(decoded.operands[2], "u32", decoded)
    write = bind_result(decoded.operands[0], "b32", decoded)

    def run(w: Waves) -> None:
        values = np.broadcast_to(read(w), (w.count, LANES))
        lane = np.broadcast_to(choose(w) & LAST, (w.count,)).astype(np.int64)
        write(w, values[np.arange(w.count), lane])

    return run


def _bind_write_lane(decoded: Decoded, layout: Layout) -> Operation:
    index = vector_index(decoded.operands[0], layout, decoded)
    read = bind_scalar(decoded.operands[1], "b32", decoded)
    choose = bind_scalar(decoded.operands[2], "u32", decoded)

    def run(w: Waves) -> None:
        lane = np.broadcast_to(choose(w) & LAST, (w.count,)).astype(np.int64)
        w.registers.vectors[index, w.indices, lane] = read(w)

    return run


def _bind_count_below(first_lane: int) -> Binder:
    """Bind ``v_mbcnt``: how many of the mask's bits belong to lanes below this one."""
    lane = np.arange(LANES)
    below = np.clip(lane - first_lane, 0, 32).astype(U64)
    mask = ((U64(1) << below) - U64(1)).astype(U32)

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        index = vector_index(decoded.operands[0], layout, decoded)
        bits = bind_source(decoded.operands[1], "u32", layout, decoded)
        base = bind_source(decoded.operands[2], "u32", layout, decoded)

        def run(w: Waves) -> None:
            w.put(index, np.bitwise_count(bits(w) & mask).astype(U32) + base(w))

        return run

    return bind


def _bind_swap(decoded: Decoded, layout: Layout) -> Operation:
    first, second = (vector_index(operand, layout, decoded) for operand in decoded.operands)

    def run(w: Waves) -> None:
        one, other = w.word(first).copy(), w.word(second).copy()
        w.put(first, other)
        w.put(second, one)

    return run


def _bind_accumulator_move(decoded: Decoded, layout: Layout) -> Operation:
    """Bind moves between v and a registers. They obey EXEC, as every VALU move does."""
    index = vector_index(decoded.operands[0], layout, decoded)
    read = bind_source(decoded.operands[1], "b32", layout, decoded)

    def run(w: Waves) -> None:
        value: Array = read(w)
        w.put(index, value)

    return run


BINDERS: Final[dict[str, Binder]] = {
    "v_readfirstlane_b32": _bind_read_first,
    "v_readlane_b32": _bind_read_lane,
    "v_writelane_b32": _bind_write_lane,
    "v_mbcnt_lo_u32_b32": _bind_count_below(0),
    "v_mbcnt_hi_u32_b32": _bind_count_below(32),
    "v_swap_b32": _bind_swap,
    "v_accvgpr_read_b32": _bind_accumulator_move,
    "v_accvgpr_write_b32": _bind_accumulator_move,
    "v_accvgpr_mov_b32": _bind_accumulator_move,
}
