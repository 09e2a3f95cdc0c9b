"""How many floating-point operations an instruction stands for."""

from __future__ import annotations

import re
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


def flops_of(name: str) -> int:
    """Return the operations that one wave issues with an instruction, all lanes counted."""
    shape = parse_shape(name)
    if shape is not None:
        return shape.flops if shape.result != "i32" else 0
    for pattern, count in _PER_LANE:
        if pattern.fullmatch(name):
            return count * LANES
    return 0


def total_flops(mnemonics: Mapping[str, int]) -> int:
    """Return the operations of all instructions, by how often each was executed."""
    return sum(count * flops_of(name) for name, count in mnemonics.items())
