"""VOPC: compare in each lane, one bit per lane into a scalar pair; ``v_cmpx`` into EXEC as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator import floats
from kernelmill.emulator.arrays import LANES, Array, masks_of
from kernelmill.emulator.instructions.salu import bind_result
from kernelmill.emulator.operands import parse_operand
from kernelmill.emulator.registers import EXEC, Waves
from kernelmill.emulator.vector import Binder, Compute, bind_sources, flushed

if TYPE_CHECKING:
    from kernelmill.emulator.program import Decoded, Layout, Operation


def _always(value: bool) -> Compute:
    return lambda a, b: np.full(np.broadcast_shapes(a.shape, b.shape), value)


def _ordered(a: Array, b: Array) -> Array:
    return ~(np.isnan(a) | np.isnan(b))


INTEGER: Final[dict[str, Compute]] = {
    "f": _always(False), "lt": np.less, "eq": np.equal, "le": np.less_equal,
    "gt": np.greater, "ne": np.not_equal, "ge": np.greater_equal,
    "t": _always(True),
}  # fmt: skip
REAL: Final[dict[str, Compute]] = {
    "f": _always(False), "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater,
    "lg": lambda a, b: (a < b) | (a > b), "ge": np.greater_equal, "o": _ordered,
    "u": lambda a, b: np.isnan(a) | np.isnan(b),
    "nge": lambda a, b: ~(a >= b), "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b), "nle": lambda a, b: ~(a <= b), "neq": lambda a, b: ~(a == b),
    "nlt": lambda a, b: ~(a < b), "tru": _always(True),
}  # fmt: skip


def _has_class(value: Array, wanted: Array) -> Array:
    result: Array = (floats.classify(value) & wanted) != 0
    return result


def _table() -> dict[str, tuple[str, str, Compute]]:
    table: dict[str, tuple[str, str, Compute]] = {}
    for prefix in ("v_cmp", "v_cmpx"):
        for width in (16, 32, 64):
            for kind in (f"i{width}", f"u{width}"):
                for name, function in INTEGER.items():
                    table[f"{prefix}_{name}_{kind}"] = kind, kind, function
            for name, function in REAL.items():
                table[f"{prefix}_{name}_f{width}"] = f"f{width}", f"f{width}", function
            table[f"{prefix}_class_f{width}"] = f"f{width}", "u32", _has_class
    return table


TABLE: Final = _table()
"""Mnemonic -> types of the two sources, and what is compared."""


def bind(decoded: Decoded, layout: Layout) -> Operation:
    """Bind a comparison. The destination is a scalar pair; some encodings do not print VCC."""
    *kinds, compute = TABLE[decoded.name]
    target, *sources = decoded.operands
    if len(sources) == 1:
        target, sources = parse_operand("vcc"), list(decoded.operands)
    first, second = bind_sources(decoded, layout, sources, [str(kind) for kind in kinds])
    write = bind_result(target, "b64", decoded)
    writes_exec = decoded.name.startswith("v_cmpx")
    assert callable(compute)
    function: Compute = compute

    def run(w: Waves) -> None:
        values = [first(w), second(w)]
        if layout.watches_mode:
            values = [flushed(w, value) for value in values]
        found = np.broadcast_to(function(*values), (w.count, LANES))
        masks = masks_of(found)
        if not w.is_full:
            masks &= w.exec
        write(w, masks)
        if writes_exec:
            w.put_pair(EXEC, masks)

    return run


BINDERS: Final[dict[str, Binder]] = dict.fromkeys(TABLE, bind)
