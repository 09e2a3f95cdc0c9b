"""DPP: a source read from another lane. The lane numbers are fixed by the instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.operands import number, numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.program import Decoded

ROW: Final = 16
_LANE: Final = np.arange(LANES)
_IN_ROW: Final = _LANE % ROW
_ROW_START: Final = _LANE - _IN_ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneMap:
    """Where each lane's value comes from."""

    source: Array
    """Lane number, for each of 64 lanes."""
    is_valid: Array
    """Whether there is such a lane."""
    is_written: Array
    """Whether ``row_mask`` and ``bank_mask`` let the lane be written."""
    fills_with_zero: bool
    """A lane without a source takes 0 (``bound_ctrl``); else it is not written."""


def _row_rotate(amount: int) -> Array:
    return _ROW_START + (_IN_ROW - amount) % ROW


def _row_shift(amount: int) -> Array:
    place = _IN_ROW + amount
    return np.where((place >= 0) & (place < ROW), _ROW_START + place, -1)


def _wave_shift(amount: int) -> Array:
    place = _LANE + amount
    return np.where((place >= 0) & (place < LANES), place, -1)


def _broadcast_15() -> Array:
    """Lane 15 of each row goes to all of the next row."""
    return np.where(_ROW_START > 0, _ROW_START - 1, -1)


def _broadcast_31() -> Array:
    """Lane 31 goes to the rows 2 and 3."""
    return np.where(_LANE >= 2 * ROW, 2 * ROW - 1, -1)


CONTROLS: Final[dict[str, Callable[[int], Array]]] = {
    "row_shl": _row_shift,
    "row_shr": lambda amount: _row_shift(-amount),
    "row_ror": _row_rotate,
    "row_newbcast": lambda lane: _ROW_START + lane,
    "row_share": lambda lane: _ROW_START + lane,
    "row_mirror": lambda _: _ROW_START + ROW - 1 - _IN_ROW,
    "row_half_mirror": lambda _: _LANE - _LANE % 8 + 7 - _LANE % 8,
    "wave_shl": _wave_shift,
    "wave_shr": lambda amount: _wave_shift(-amount),
    "wave_rol": lambda amount: (_LANE + amount) % LANES,
    "wave_ror": lambda amount: (_LANE - amount) % LANES,
    "row_bcast": lambda lane: _broadcast_15() if lane == 15 else _broadcast_31(),
}


def lane_map(decoded: Decoded) -> LaneMap:
    """Return the lane map of a DPP instruction."""
    source = _source(decoded)
    row_mask = number(decoded.modifiers.get("row_mask", "0xf"))
    bank_mask = number(decoded.modifiers.get("bank_mask", "0xf"))
    rows = np.array([row_mask >> row & 1 for row in range(4)], np.bool_)
    banks = np.array([bank_mask >> bank & 1 for bank in range(4)], np.bool_)
    return LaneMap(
        source=np.maximum(source, 0),
        is_valid=source >= 0,
        is_written=rows[_LANE // ROW] & banks[_IN_ROW // 4],
        # LLVM prints the bit BOUND_CTRL = 1 as "bound_ctrl:0" or ":1", by its version.
        fills_with_zero="bound_ctrl" in decoded.modifiers,
    )


def _source(decoded: Decoded) -> Array:
    if "quad_perm" in decoded.modifiers:
        order = np.array(numbers(decoded.modifiers["quad_perm"]))
        return np.asarray(_LANE - _LANE % 4 + order[_LANE % 4])
    for name, control in CONTROLS.items():
        if name in decoded.modifiers:
            return control(number(decoded.modifiers[name] or "0"))
    raise UnsupportedInstruction(f"{decoded}: unknown DPP control")
