"""Scalar arithmetic: SOP1, SOP2, SOPK and SOPC.

Source of what each does: AMD's "Instinct MI300 Instruction Set Architecture", chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import Array
from kernelmill.emulator.bits import (
    bit_count,
    bit_reverse,
    broadcast_bits,
    find_first,
    find_last,
    find_sign_change,
    quad_mask,
    whole_quad,
)
from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.registers import EXEC, Waves
from kernelmill.emulator.sources import bind_scalar

if TYPE_CHECKING:
    from kernelmill.emulator.operands import Operand
    from kernelmill.emulator.program import Decoded, Layout, Operation, Reader

Compute = Callable[..., Array]
Pair = Callable[..., tuple[Array, Array]]
U32, I32, U64, I64 = np.uint32, np.int32, np.uint64, np.int64


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """What a scalar instruction does."""

    result: str
    """Type of the destination; empty for a comparison, which writes SCC only."""
    sources: tuple[str, ...]
    compute: Compute | Pair
    scc: str = ""
    """``nonzero``: SCC is whether the result is; ``own``: ``compute`` returns it too."""
    keeps: bool = False
    """The destination is also the last source."""


def _op(signature: str, compute: Compute | Pair, *, scc: str = "", keeps: bool = False) -> Scalar:
    result, *sources = signature.split()
    result = "" if result == "scc" else result
    return Scalar(result=result, sources=tuple(sources), compute=compute, scc=scc, keeps=keeps)


def _add(a: Array, b: Array) -> tuple[Array, Array]:
    total = np.add(a, b, dtype=U64)
    return total.astype(U32), total > U64(0xFFFF_FFFF)


def _sub(a: Array, b: Array) -> tuple[Array, Array]:
    return a - b, b > a


def _add_signed(a: Array, b: Array) -> tuple[Array, Array]:
    total = np.add(a, b, dtype=I64)
    low = total.astype(I32)
    return low, low != total


def _sub_signed(a: Array, b: Array) -> tuple[Array, Array]:
    total = np.subtract(a, b, dtype=I64)
    low = total.astype(I32)
    return low, low != total


def _abs(a: Array) -> Array:
    return np.abs(a)  # of the smallest number it is that number, as on hardware


def _mul_high(dtype: type[np.generic]) -> Compute:
    return lambda a, b: (np.multiply(a, b, dtype=dtype) >> dtype(32)).astype(U32)


def _shift_add(shift: int) -> Pair:
    def compute(a: Array, b: Array) -> tuple[Array, Array]:
        total = (a.astype(U64) << U64(shift)) + b
        return total.astype(U32), total > U64(0xFFFF_FFFF)

    return compute


def _field_mask(width: int) -> Compute:
    dtype = np.dtype(f"u{width // 8}").type
    one, limit = dtype(1), dtype(width - 1)
    return lambda a, b: ((one << (a.astype(dtype) & limit)) - one) << (b.astype(dtype) & limit)


def _field(width: int, *, is_signed: bool) -> Compute:
    """Extract bits: offset in the low bits of ``b``, width in bits 16 to 22."""
    unsigned, signed = np.dtype(f"u{width // 8}").type, np.dtype(f"i{width // 8}").type

    def compute(a: Array, b: Array) -> Array:
        offset = (b & U32(width - 1)).astype(unsigned)
        bits = np.minimum((b >> U32(16)) & U32(0x7F), U32(width)).astype(unsigned)
        kept = np.minimum(bits, unsigned(width) - offset)
        away = (unsigned(width) - kept) & unsigned(width - 1)
        moved = (a >> offset) << away
        back = moved.view(signed) >> away.view(signed) if is_signed else moved >> away
        result: Array = np.where(bits == 0, unsigned(0), np.asarray(back).view(unsigned))
        return result

    return compute


def _set_bit(width: int, *, to: int) -> Compute:
    dtype = np.dtype(f"u{width // 8}").type

    def compute(a: Array, old: Array) -> Array:
        bit = dtype(1) << (a.astype(dtype) & dtype(width - 1))
        result: Array = old | bit if to else old & ~bit
        return result

    return compute


def _test_bit(width: int, *, wanted: int) -> Compute:
    dtype = np.dtype(f"u{width // 8}").type
    return lambda a, b: ((a >> (b.astype(dtype) & dtype(width - 1))) & dtype(1)) == dtype(wanted)


def _shift(function: np.ufunc, width: int) -> Compute:
    limit = U32(width - 1)
    return lambda a, b: function(a, (b & limit).astype(a.dtype))


def _pack(first: int, second: int) -> Compute:
    """Join halves (0 low, 1 high) of two words."""
    half = U32(0xFFFF)
    return lambda a, b: (
        ((a >> U32(16 * first)) & half) | (((b >> U32(16 * second)) & half) << U32(16))
    )


def _extend(dtype: type[np.generic]) -> Compute:
    return lambda a: a.astype(dtype).astype(I32)


COMPARISONS: Final[dict[str, np.ufunc]] = {
    "eq": np.equal, "lg": np.not_equal, "gt": np.greater,
    "ge": np.greater_equal, "lt": np.less, "le": np.less_equal,
}  # fmt: skip


def _logic() -> dict[str, Scalar]:
    functions: dict[str, Compute] = {
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "andn2": lambda a, b: a & ~b,
        "orn2": lambda a, b: a | ~b,
        "nand": lambda a, b: ~(a & b),
        "nor": lambda a, b: ~(a | b),
        "xnor": lambda a, b: ~(a ^ b),
    }
    return {
        f"s_{name}_b{width}": _op(f"b{width} b{width} b{width}", function, scc="nonzero")
        for name, function in functions.items()
        for width in (32, 64)
    }


def _compares() -> dict[str, Scalar]:
    table = {}
    for name, function in COMPARISONS.items():
        for kind in ("i32", "u32"):
            table[f"s_cmp_{name}_{kind}"] = _op(f"scc {kind} {kind}", function)
            table[f"s_cmpk_{name}_{kind}"] = _op(f"scc {kind} {kind}", function)
    for name in ("eq", "lg"):
        table[f"s_cmp_{name}_u64"] = _op("scc u64 u64", COMPARISONS[name])
    for wanted in (0, 1):
        for width in (32, 64):
            table[f"s_bitcmp{wanted}_b{width}"] = _op(
                f"scc b{width} b32", _test_bit(width, wanted=wanted)
            )
    return table


def _one_source() -> dict[str, Scalar]:
    table = {
        "s_brev_b32": _op("b32 b32", bit_reverse),
        "s_brev_b64": _op("b64 b64", bit_reverse),
        "s_flbit_i32": _op("b32 i32", find_sign_change),
        "s_flbit_i32_i64": _op("b32 i64", find_sign_change),
        "s_sext_i32_i8": _op("i32 i32", _extend(np.int8)),
        "s_sext_i32_i16": _op("i32 i32", _extend(np.int16)),
        "s_abs_i32": _op("i32 i32", _abs, scc="nonzero"),
        "s_bitreplicate_b64_b32": _op("b64 b32", broadcast_bits),
    }
    for width in (32, 64):
        bits = f"b{width} b{width}"
        table |= {
            f"s_mov_b{width}": _op(bits, np.positive),
            f"s_not_b{width}": _op(bits, np.invert, scc="nonzero"),
            f"s_wqm_b{width}": _op(bits, whole_quad, scc="nonzero"),
            f"s_quadmask_b{width}": _op(bits, quad_mask, scc="nonzero"),
            f"s_flbit_i32_b{width}": _op(f"b32 b{width}", find_last),
            f"s_bitset0_b{width}": _op(f"b{width} b32", _set_bit(width, to=0), keeps=True),
            f"s_bitset1_b{width}": _op(f"b{width} b32", _set_bit(width, to=1), keeps=True),
        }
        for wanted in (0, 1):
            table[f"s_bcnt{wanted}_i32_b{width}"] = _op(
                f"b32 b{width}", bit_count(wanted), scc="nonzero"
            )
            table[f"s_ff{wanted}_i32_b{width}"] = _op(f"b32 b{width}", find_first(wanted))
    return table


def _two_sources() -> dict[str, Scalar]:
    table = {
        "s_add_u32": _op("u32 u32 u32", _add, scc="own"),
        "s_sub_u32": _op("u32 u32 u32", _sub, scc="own"),
        "s_add_i32": _op("i32 i32 i32", _add_signed, scc="own"),
        "s_sub_i32": _op("i32 i32 i32", _sub_signed, scc="own"),
        "s_absdiff_i32": _op("i32 i32 i32", lambda a, b: np.abs(a - b), scc="nonzero"),
        "s_mul_i32": _op("u32 u32 u32", np.multiply),
        "s_mul_hi_u32": _op("u32 u32 u32", _mul_high(U64)),
        "s_mul_hi_i32": _op("u32 i32 i32", _mul_high(I64)),
        "s_pack_ll_b32_b16": _op("b32 b32 b32", _pack(0, 0)),
        "s_pack_lh_b32_b16": _op("b32 b32 b32", _pack(0, 1)),
        "s_pack_hh_b32_b16": _op("b32 b32 b32", _pack(1, 1)),
        "s_bfe_u32": _op("u32 u32 u32", _field(32, is_signed=False), scc="nonzero"),
        "s_bfe_i32": _op("u32 u32 u32", _field(32, is_signed=True), scc="nonzero"),
        "s_bfe_u64": _op("u64 u64 u32", _field(64, is_signed=False), scc="nonzero"),
        "s_bfe_i64": _op("u64 u64 u32", _field(64, is_signed=True), scc="nonzero"),
        "s_bfm_b32": _op("b32 b32 b32", _field_mask(32)),
        "s_bfm_b64": _op("b64 b32 b32", _field_mask(64)),
    }
    for shift in (1, 2, 3, 4):
        table[f"s_lshl{shift}_add_u32"] = _op("u32 u32 u32", _shift_add(shift), scc="own")
    for kind in ("i32", "u32"):
        signature = f"{kind} {kind} {kind}"
        table[f"s_min_{kind}"] = _op(signature, lambda a, b: (np.minimum(a, b), a < b), scc="own")
        table[f"s_max_{kind}"] = _op(signature, lambda a, b: (np.maximum(a, b), a > b), scc="own")
    for width in (32, 64):
        for name, function, kind in (
            ("lshl", np.left_shift, "b"), ("lshr", np.right_shift, "b"),
            ("ashr", np.right_shift, "i"),
        ):  # fmt: skip
            suffix = "i" if name == "ashr" else "b"
            table[f"s_{name}_{suffix}{width}"] = _op(
                f"{kind}{width} {kind}{width} b32", _shift(function, width), scc="nonzero"
            )
    return table


TABLE: Final[dict[str, Scalar]] = {**_logic(), **_compares(), **_one_source(), **_two_sources()}


def bind_table(decoded: Decoded, layout: Layout) -> Operation:
    """Bind an instruction of ``TABLE``."""
    del layout  # scalar registers lie where their numbers say
    semantics = TABLE[decoded.name]
    operands = decoded.operands
    sources = operands[1:] if semantics.result else operands
    if decoded.name.startswith("s_cmpk_") and decoded.name.endswith("_i32"):
        sources = (sources[0], replace(sources[1], value=int(signed_immediate(sources[1]))))
    if semantics.keeps:
        sources = (*sources, operands[0])
    kinds = (*semantics.sources, *([semantics.result] if semantics.keeps else []))
    read = tuple(
        bind_scalar(operand, kind, decoded) for operand, kind in zip(sources, kinds, strict=True)
    )
    if not semantics.result:
        return _bind_compare(semantics.compute, read)
    write = bind_result(operands[0], semantics.result, decoded)
    return _bind_result_and_scc(semantics, read, write)


def _bind_compare(compute: Callable[..., object], read: tuple[Reader, ...]) -> Operation:
    first, second = read

    def run(w: Waves) -> None:
        w.scc = np.asarray(compute(first(w), second(w)))

    return run


def _bind_result_and_scc(
    semantics: Scalar, read: tuple[Reader, ...], write: Callable[[Waves, Array], None]
) -> Operation:
    compute, scc = semantics.compute, semantics.scc

    def run(w: Waves) -> None:
        result, condition = compute(*(source(w) for source in read)), None
        if scc == "own":
            result, condition = result
        elif scc:
            condition = result != 0
        write(w, np.asarray(result))
        if condition is not None:
            w.scc = np.asarray(condition)

    return run


def bind_result(operand: Operand, kind: str, decoded: Decoded) -> Callable[[Waves, Array], None]:
    """Return what writes a scalar destination, given the value of each wave."""
    index, bits = operand.index, np.dtype(f"u{int(kind[1:]) // 8}")
    if operand.kind != "scalar":
        raise UnsupportedInstruction(f"{decoded}: {operand.text!r} cannot be written as a scalar")
    if bits.itemsize == 4:
        return lambda w, value: w.put_scalar(index, value.view(bits))
    if index & 1:
        raise UnsupportedInstruction(f"{decoded}: a pair begins at an odd register")
    return lambda w, value: w.put_pair(index, value.view(bits))


def _save_exec(compute: Compute, *, saves: bool = True) -> Callable[[Decoded, Layout], Operation]:
    """Bind ``s_*_saveexec_b64`` and, without saving the old value, ``s_*_wrexec_b64``."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        del layout
        target, source = decoded.operands
        read = bind_scalar(source, "b64", decoded)
        write = bind_result(target, "b64", decoded)

        def run(w: Waves) -> None:
            old = w.exec.copy()
            new = np.asarray(compute(read(w), old))
            write(w, old if saves else new)
            w.put_pair(EXEC, new)
            w.scc = new != 0

        return run

    return bind


def _bind_select(width: int) -> Callable[[Decoded, Layout], Operation]:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        del layout
        kind = f"b{width}"
        first, second = (bind_scalar(operand, kind, decoded) for operand in decoded.operands[1:])
        write = bind_result(decoded.operands[0], kind, decoded)
        return lambda w: write(w, np.where(w.scc, first(w), second(w)))

    return bind


def _bind_conditional_move(width: int) -> Callable[[Decoded, Layout], Operation]:
    """Bind ``s_cmov_b32`` and ``s_cmovk_i32``: a move where SCC is set."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        del layout
        kind, given = f"b{width}", decoded.operands[1]
        if decoded.name == "s_cmovk_i32":
            given = replace(given, value=int(signed_immediate(given)))
        source, old = (
            bind_scalar(operand, kind, decoded) for operand in (given, decoded.operands[0])
        )
        write = bind_result(decoded.operands[0], kind, decoded)
        return lambda w: write(w, np.where(w.scc, source(w), old(w)))

    return bind


def _bind_carry(*, subtracts: bool) -> Callable[[Decoded, Layout], Operation]:
    def bind(decoded: Decoded, layout: Layout) -> Operation:
        del layout
        first, second = (bind_scalar(operand, "u32", decoded) for operand in decoded.operands[1:])
        write = bind_result(decoded.operands[0], "u32", decoded)

        def run(w: Waves) -> None:
            a, b = first(w).astype(I64), second(w).astype(I64)
            total = a - b - w.scc if subtracts else a + b + w.scc
            w.scc = (total < 0) | (total > I64(0xFFFF_FFFF))
            write(w, total.astype(U32))

        return run

    return bind


def _bind_immediate(name: str) -> Callable[[Decoded, Layout], Operation]:
    """Bind SOPK arithmetic: the destination and a constant of 16 bits, sign-extended."""

    def bind(decoded: Decoded, layout: Layout) -> Operation:
        del layout
        target, operand = decoded.operands
        amount = signed_immediate(operand)
        old, write = bind_scalar(target, "i32", decoded), bind_result(target, "i32", decoded)

        def run(w: Waves) -> None:
            if name == "mov":
                write(w, amount)
            elif name == "mul":
                write(w, old(w) * amount)
            else:
                total, overflow = _add_signed(old(w), amount)
                write(w, total)
                w.scc = overflow

        return run

    return bind


def signed_immediate(operand: Operand) -> Array:
    """Return a constant of 16 bits, however it is printed, as int32."""
    return np.array(int(operand.value) & 0xFFFF, np.uint16).view(np.int16).astype(I32)


SAVE_EXEC: Final[dict[str, Compute]] = {
    "and": lambda s, e: s & e,
    "or": lambda s, e: s | e,
    "xor": lambda s, e: s ^ e,
    "andn2": lambda s, e: s & ~e,
    "orn2": lambda s, e: s | ~e,
    "nand": lambda s, e: ~(s & e),
    "nor": lambda s, e: ~(s | e),
    "xnor": lambda s, e: ~(s ^ e),
    "andn1": lambda s, e: ~s & e,
    "orn1": lambda s, e: ~s | e,
}

BINDERS: Final[dict[str, Callable[[Decoded, Layout], Operation]]] = {
    **dict.fromkeys(TABLE, bind_table),
    **{f"s_{name}_saveexec_b64": _save_exec(function) for name, function in SAVE_EXEC.items()},
    "s_andn1_wrexec_b64": _save_exec(SAVE_EXEC["andn1"], saves=False),
    "s_andn2_wrexec_b64": _save_exec(SAVE_EXEC["andn2"], saves=False),
    "s_cselect_b32": _bind_select(32),
    "s_cselect_b64": _bind_select(64),
    "s_cmov_b32": _bind_conditional_move(32),
    "s_cmov_b64": _bind_conditional_move(64),
    "s_cmovk_i32": _bind_conditional_move(32),
    "s_addc_u32": _bind_carry(subtracts=False),
    "s_subb_u32": _bind_carry(subtracts=True),
    "s_movk_i32": _bind_immediate("mov"),
    "s_addk_i32": _bind_immediate("add"),
    "s_mulk_i32": _bind_immediate("mul"),
}
