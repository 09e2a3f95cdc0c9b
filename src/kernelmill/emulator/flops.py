"""How many floating-point operations an instruction stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.emulator.arrays import LANES
from kernelmill.emulator.instructions.mfma import parse_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

_PER_LANE: Final = (
    (re.compile(r"v_(?:add|sub|subrev|mul|mul_legacy)_f(?:16|32|64)"), 1),
    (re.compile(r"v_(?:fma|fmac|fmamk|fmaak|mad|mac|div_fmas)(?:_legacy)?_f(?:16|32|64)"), 2),
    (re.compile(r"v_(?:fma|mad)_mix(?:lo|hi)?_f(?:16|32)"), 2),
    (re.compile(r"v_pk_(?:add|mul)_f(?:16|32)"), 2),
    (re.compile(r"v_pk_(?:fma|fmac)_f(?:16|32)"), 4),
    (re.compile(r"v_dot2c?_f32_f16"), 4),
)


_INTEGER_DOT: Final = re.compile(r"v_dot(?P<count>[248])c?_[iu]32_[iu](?P<bits>16|8|4)")


def flops_of(name: str) -> int:
    """Return the operations that one wave issues with an instruction, all lanes counted."""
    shape = parse_shape(name)
    if shape is not None:
        return shape.flops if shape.result != "i32" else 0
    for pattern, count in _PER_LANE:
        if pattern.fullmatch(name):
            return count * LANES
    return 0


def integer_operations_of(name: str) -> int:
    """Return the multiplications and additions of a matrix or dot instruction on integers."""
    shape = parse_shape(name)
    if shape is not None:
        return shape.flops if shape.result == "i32" else 0
    match = _INTEGER_DOT.fullmatch(name)
    return 2 * int(match["count"]) * LANES if match else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Multiplications and additions issued: an instruction counts with all 64 lanes."""

    matrix_flops: int
    vector_flops: int
    integer: int
    """Of matrix and dot instructions on integers."""

    @property
    def flops(self) -> int:
        """Return those on floating-point numbers."""
        return self.matrix_flops + self.vector_flops


def total_operations(mnemonics: Mapping[str, int]) -> Operations:
    """Return the operations of all instructions, by how often each was executed."""
    flops = {name: count * flops_of(name) for name, count in mnemonics.items()}
    matrix = sum(count for name, count in flops.items() if parse_shape(name) is not None)
    return Operations(
        matrix_flops=matrix,
        vector_flops=sum(flops.values()) - matrix,
        integer=sum(count * integer_operations_of(name) for name, count in mnemonics.items()),
    )
