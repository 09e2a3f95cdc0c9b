"""Conversions to and from FP8 and BF8, in the FNUZ formats of gfx942."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.fp8 import E4M3FNUZ, E5M2FNUZ, Fp8
from kernelmill.emulator.operands import numbers
from kernelmill.emulator.sdwa import PARTS
from kernelmill.emulator.sources import bind_source, vector_index

if TYPE_CHECKING:
    from kernelmill.emulator.program import Decoded, Layout, Operation
    from kernelmill.emulator.registers import Waves
    from kernelmill.emulator.vector import Binder

U32 = np.uint32
BYTE: Final = U32(0xFF)
OVERFLOW_BIT: Final = 23
"""MODE.FP16_OVFL: what is too large for the format becomes its largest number, not NaN."""


def saturates(w: Waves) -> bool:
    """Say whether conversions of these waves saturate."""
    return bool((w.registers.mode[w.rows] >> U32(OVERFLOW_BIT) & U32(1)).any())


def _first_byte(decoded: Decoded) -> int:
    """Return the first byte of the source that SDWA selects."""
    if decoded.encoding != "sdwa":
        return 0
    return PARTS[decoded.modifiers.get("src0_sel", "DWORD")][0] // 8


def _bind_decode(form: Fp8, count: int) -> Binder:
    """Bind ``v_cvt_f32_fp8`` (one byte) or ``v_cvt_pk_f32_fp8`` (two)."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        index = vector_index(decoded.operands[0], layout, decoded)
        read = bind_source(decoded.operands[1], "u32", layout, decoded)
        start = _first_byte(decoded)

        def run(w: Waves) -> None:
            word = read(w)
            found = [
                form.table[(word >> U32(8 * (start + place))) & BYTE] for place in range(count)
            ]
            for place, value in enumerate(found):
                w.put(index + place, value)

        return run

    return bind


def _bind_encode(form: Fp8) -> Binder:
    """Bind ``v_cvt_pk_fp8_f32``: two codes into one half of a register."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        index = vector_index(decoded.operands[0], layout, decoded)
        read = [bind_source(operand, "f32", layout, decoded) for operand in decoded.operands[1:3]]
        is_high = numbers(decoded.modifiers.get("op_sel", "[0,0,0]"))[-1]
        shift, kept = U32(16 * is_high), U32(0xFFFF if is_high else 0xFFFF_0000)

        def run(w: Waves) -> None:
            low, high = (_encoded(form, source(w), w) for source in read)
            w.put(index, (w.word(index) & kept) | ((low | (high << U32(8))) << shift))

        return run

    return bind


def _encoded(form: Fp8, values: Array, w: Waves) -> Array:
    whole = np.broadcast_to(values, (w.count, LANES))
    return form.encode(whole, saturates=saturates(w)).astype(U32)


def _bind_encode_stochastic(form: Fp8) -> Binder:
    """Bind ``v_cvt_sr_fp8_f32``: one code, rounded by chance, into one byte of a register."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        index = vector_index(decoded.operands[0], layout, decoded)
        value = bind_source(decoded.operands[1], "f32", layout, decoded)
        noise = bind_source(decoded.operands[2], "u32", layout, decoded)
        low, high = numbers(decoded.modifiers.get("op_sel", "[0,0,0,0]"))[2:4]
        shift = U32(8 * (low + 2 * high))
        kept = U32(0xFFFF_FFFF) ^ (BYTE << shift)

        def run(w: Waves) -> None:
            values, chance = np.broadcast_arrays(value(w), noise(w), w.word(index))[:2]
            codes = form.encode_stochastic(values, chance, saturates=saturates(w))
            w.put(index, (w.word(index) & kept) | (codes.astype(U32) << shift))

        return run

    return bind


BINDERS: Final[dict[str, Binder]] = {
    name: binder
    for kind, form in (("fp8", E4M3FNUZ), ("bf8", E5M2FNUZ))
    for name, binder in (
        (f"v_cvt_f32_{kind}", _bind_decode(form, 1)),
        (f"v_cvt_pk_f32_{kind}", _bind_decode(form, 2)),
        (f"v_cvt_pk_{kind}_f32", _bind_encode(form)),
        (f"v_cvt_sr_{kind}_f32", _bind_encode_stochastic(form)),
    )
}
