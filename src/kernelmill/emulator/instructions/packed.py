"""VOP3P: two values of 16 or 32 bits at once, mixed precision, dot products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator import floats
from kernelmill.emulator.arrays import LANES, Array, Integer
from kernelmill.emulator.instructions.convert import pack_halves
from kernelmill.emulator.operands import Operand, numbers
from kernelmill.emulator.sources import bind_source, vector_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.emulator.program import Decoded, Layout, Operation, Reader
    from kernelmill.emulator.registers import Waves
    from kernelmill.emulator.vector import Binder, Compute

U16, U32, I16, I32, I64 = np.uint16, np.uint32, np.int16, np.int32, np.int64
HALF: Final = U32(0xFFFF)
INTEGERS: Final[dict[str, type[Integer]]] = {"i16": I16, "u16": U16, "i32": I32, "u32": U32}


def _flags(decoded: Decoded, name: str, default: int, count: int) -> tuple[int, ...]:
    text = decoded.modifiers.get(name)
    return numbers(text) if text else (default,) * count


def _shift(function: np.ufunc) -> Compute:
    return lambda amount, value: function(
        value, (amount & amount.dtype.type(15)).astype(value.dtype)
    )


def _clamped(kind: str, compute: Compute) -> Compute:
    """Keep a result within its type: reals in 0 to 1, integers without wrapping around."""
    if kind[0] == "f":
        return lambda *values: np.fmin(
            np.fmax(compute(*values), values[0].dtype.type(0)), values[0].dtype.type(1)
        )
    limits = np.iinfo(INTEGERS[kind])
    return lambda *values: np.clip(
        compute(*(value.astype(I64) for value in values)), limits.min, limits.max
    ).astype(INTEGERS[kind])


HALVES: Final[dict[str, tuple[str, Compute]]] = {
    "v_pk_mad_i16": ("i16", lambda a, b, c: a * b + c),
    "v_pk_mad_u16": ("u16", lambda a, b, c: a * b + c),
    "v_pk_mul_lo_u16": ("u16", np.multiply),
    "v_pk_add_i16": ("i16", np.add),
    "v_pk_add_u16": ("u16", np.add),
    "v_pk_sub_i16": ("i16", np.subtract),
    "v_pk_sub_u16": ("u16", np.subtract),
    "v_pk_max_i16": ("i16", np.maximum),
    "v_pk_max_u16": ("u16", np.maximum),
    "v_pk_min_i16": ("i16", np.minimum),
    "v_pk_min_u16": ("u16", np.minimum),
    "v_pk_lshlrev_b16": ("u16", _shift(np.left_shift)),
    "v_pk_lshrrev_b16": ("u16", _shift(np.right_shift)),
    "v_pk_ashrrev_i16": ("i16", _shift(np.right_shift)),
    "v_pk_fma_f16": ("f16", floats.fma16),
    "v_pk_add_f16": ("f16", np.add),
    "v_pk_mul_f16": ("f16", np.multiply),
    "v_pk_min_f16": ("f16", floats.minimum),
    "v_pk_max_f16": ("f16", floats.maximum),
}
"""Mnemonic -> type of each half, and what is done with it."""
WORDS: Final[dict[str, Compute]] = {
    "v_pk_fma_f32": floats.fma32,
    "v_pk_mul_f32": np.multiply,
    "v_pk_add_f32": np.add,
}


def _bind_half(
    operand: Operand, kind: str, layout: Layout, decoded: Decoded, *, high: int, negate: int
) -> Reader:
    """Return the reader of one half of a source, negated or not."""
    bare = Operand(
        kind=operand.kind, text=operand.text, index=operand.index,
        count=operand.count, value=operand.value,
    )  # fmt: skip
    read = bind_source(bare, kind, layout, decoded, half=high)
    return (lambda w: np.negative(read(w))) if negate else read


def _bind_halves(decoded: Decoded, layout: Layout) -> Operation:
    kind, compute = HALVES[decoded.name]
    if "clamp" in decoded.modifiers:
        compute = _clamped(kind, compute)
    target, *sources = decoded.operands
    count = len(sources)
    index = vector_index(target, layout, decoded)
    groups: list[list[Reader]] = []
    for select, negate in (("op_sel", "neg_lo"), ("op_sel_hi", "neg_hi")):
        halves = _flags(decoded, select, int(select == "op_sel_hi"), count)
        signs = _flags(decoded, negate, 0, count)
        groups.append(
            [
                _bind_half(operand, kind, layout, decoded, high=half, negate=sign)
                for operand, half, sign in zip(sources, halves, signs, strict=True)
            ]
        )
    low, high = groups

    def run(w: Waves) -> None:
        first = compute(*(read(w) for read in low))
        second = compute(*(read(w) for read in high))
        w.put(index, pack_halves(np.asarray(first), np.asarray(second)))

    return run


def _bind_word(
    operand: Operand, layout: Layout, decoded: Decoded, *, high: int, kind: str
) -> Reader:
    """Return the reader of one of the two words of a source."""
    if operand.is_constant:
        return bind_source(operand, kind, layout, decoded)
    part = Operand(kind=operand.kind, text=operand.text, index=operand.index + high)
    return bind_source(part, kind, layout, decoded)


def _bind_words(decoded: Decoded, layout: Layout) -> Operation:
    compute = WORDS[decoded.name]
    if "clamp" in decoded.modifiers:
        compute = _clamped("f32", compute)
    target, *sources = decoded.operands
    index = vector_index(target, layout, decoded)
    groups: list[list[Reader]] = []
    for select, negate in (("op_sel", "neg_lo"), ("op_sel_hi", "neg_hi")):
        words = _flags(decoded, select, int(select == "op_sel_hi"), len(sources))
        signs = _flags(decoded, negate, 0, len(sources))
        readers = [
            _bind_word(operand, layout, decoded, high=word, kind="f32")
            for operand, word in zip(sources, words, strict=True)
        ]
        groups.append([_signed(read, sign) for read, sign in zip(readers, signs, strict=True)])
    low, high = groups

    def run(w: Waves) -> None:
        first = compute(*(read(w) for read in low))
        second = compute(*(read(w) for read in high))
        w.put(index, np.asarray(first))
        w.put(index + 1, np.asarray(second))

    return run


def _signed(read: Reader, negate: int) -> Reader:
    return (lambda w: np.negative(read(w))) if negate else read


def _bind_move(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``v_pk_mov_b32``: one word of each source."""
    target, one, other = decoded.operands
    index = vector_index(target, layout, decoded)
    first_word, second_word = _flags(decoded, "op_sel", 0, 2)[:2]
    if "op_sel" not in decoded.modifiers:
        first_word, second_word = 0, _flags(decoded, "op_sel_hi", 1, 2)[1]
    first = _bind_word(one, layout, decoded, high=first_word, kind="b32")
    second = _bind_word(other, layout, decoded, high=second_word, kind="b32")

    def run(w: Waves) -> None:
        low, high = np.array(first(w)), np.array(second(w))
        w.put(index, low)
        w.put(index + 1, high)

    return run


def _bind_mixed(part: str) -> Binder:
    """Bind ``v_fma_mix``: each source is float32, or a half of a register as float16."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        target, *sources = decoded.operands
        index = vector_index(target, layout, decoded)
        halves = _flags(decoded, "op_sel", 0, 3)
        is_half = _flags(decoded, "op_sel_hi", 0, 3)
        read = [
            bind_source(
                operand, "f16" if small else "f32", layout, decoded, half=half if small else 0
            )
            for operand, small, half in zip(sources, is_half, halves, strict=True)
        ]
        clamps = "clamp" in decoded.modifiers

        def run(w: Waves) -> None:
            a, b, c = (source(w).astype(np.float32) for source in read)
            total = floats.fma32(a, b, c)
            if clamps:
                total = np.fmin(np.fmax(total, np.float32(0)), np.float32(1))
            if part == "word":
                w.put(index, total)
                return
            bits = total.astype(np.float16).view(U16).astype(U32)
            old = w.word(index)
            if part == "low":
                w.put(index, bits | (old & ~HALF))
            else:
                w.put(index, (bits << U32(16)) | (old & HALF))

        return run

    return bind


def _elements(word: Array, bits: int, *, is_signed: bool) -> list[Array]:
    """Return the fields of ``bits`` bits of a word: int64."""
    found = []
    for first in range(0, 32, bits):
        if is_signed:
            away = U32(32 - bits - first)
            field = ((word << away).view(I32) >> I32(32 - bits)).astype(I64)
        else:
            field = ((word >> U32(first)) & U32((1 << bits) - 1)).astype(I64)
        found.append(field)
    return found


def _dot_integers(bits: int, *, is_signed: bool) -> Compute:
    def compute(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(I64)
        left = _elements(a, bits, is_signed=is_signed)
        right = _elements(b, bits, is_signed=is_signed)
        for one, other in zip(left, right, strict=True):
            total = total + one * other
        return np.asarray(total)

    return compute


DOTS: Final[dict[str, tuple[str, Compute]]] = {
    "v_dot2_i32_i16": ("i32", _dot_integers(16, is_signed=True)),
    "v_dot2_u32_u16": ("u32", _dot_integers(16, is_signed=False)),
    "v_dot4_i32_i8": ("i32", _dot_integers(8, is_signed=True)),
    "v_dot4_u32_u8": ("u32", _dot_integers(8, is_signed=False)),
    "v_dot8_i32_i4": ("i32", _dot_integers(4, is_signed=True)),
    "v_dot8_u32_u4": ("u32", _dot_integers(4, is_signed=False)),
    "v_dot2c_i32_i16": ("i32", _dot_integers(16, is_signed=True)),
    "v_dot4c_i32_i8": ("i32", _dot_integers(8, is_signed=True)),
    "v_dot8c_i32_i4": ("i32", _dot_integers(4, is_signed=True)),
}


def _bind_dot(decoded: Decoded, layout: Layout) -> Operation:
    kind, compute = DOTS[decoded.name]
    target, *sources = decoded.operands
    operands: Sequence[Operand] = [*sources, target] if len(sources) == 2 else sources
    index = vector_index(target, layout, decoded)
    read = [
        bind_source(operand, of, layout, decoded)
        for operand, of in zip(operands, ("b32", "b32", kind), strict=True)
    ]
    limits, clamps = np.iinfo(INTEGERS[kind]), "clamp" in decoded.modifiers

    def run(w: Waves) -> None:
        total = compute(*(source(w) for source in read))
        if clamps:
            total = np.clip(total, limits.min, limits.max)
        w.put(index, total.astype(U32))

    return run


def _bind_dot_halves(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``v_dot2_f32_f16`` and ``v_dot2c_f32_f16``."""
    target, *sources = decoded.operands
    operands: Sequence[Operand] = [*sources, target] if len(sources) == 2 else sources
    index = vector_index(target, layout, decoded)
    lows = [
        _bind_half(operand, "f16", layout, decoded, high=half, negate=sign)
        for operand, half, sign in zip(
            operands[:2],
            _flags(decoded, "op_sel", 0, 3),
            _flags(decoded, "neg_lo", 0, 3),
            strict=False,
        )
    ]
    highs = [
        _bind_half(operand, "f16", layout, decoded, high=half, negate=sign)
        for operand, half, sign in zip(
            operands[:2],
            _flags(decoded, "op_sel_hi", 1, 3),
            _flags(decoded, "neg_hi", 0, 3),
            strict=False,
        )
    ]
    addend = bind_source(operands[2], "f32", layout, decoded)
    clamps = "clamp" in decoded.modifiers

    def run(w: Waves) -> None:
        a, b = (read(w).astype(np.float64) for read in lows)
        c, d = (read(w).astype(np.float64) for read in highs)
        total = (a * b + c * d + addend(w)).astype(np.float32)
        if clamps:
            total = np.fmin(np.fmax(total, np.float32(0)), np.float32(1))
        w.put(index, np.broadcast_to(total, (w.count, LANES)))

    return run


def _bind_fused_halves(decoded: Decoded, layout: Layout) -> Operation:
    """Bind ``v_pk_fmac_f16``: both halves, added to the destination."""
    target, one, other = decoded.operands
    index = vector_index(target, layout, decoded)
    read = [
        [
            bind_source(operand, "f16", layout, decoded, half=half)
            for operand in (one, other, target)
        ]
        for half in (0, 1)
    ]

    def run(w: Waves) -> None:
        low, high = (floats.fma16(*(source(w) for source in part)) for part in read)
        w.put(index, pack_halves(low, high))

    return run


BINDERS: Final[dict[str, Binder]] = {
    **dict.fromkeys(HALVES, _bind_halves),
    **dict.fromkeys(WORDS, _bind_words),
    **dict.fromkeys(DOTS, _bind_dot),
    "v_pk_mov_b32": _bind_move,
    "v_pk_fmac_f16": _bind_fused_halves,
    "v_dot2_f32_f16": _bind_dot_halves,
    "v_dot2c_f32_f16": _bind_dot_halves,
    "v_fma_mix_f32": _bind_mixed("word"),
    "v_fma_mixlo_f16": _bind_mixed("low"),
    "v_fma_mixhi_f16": _bind_mixed("high"),
}
