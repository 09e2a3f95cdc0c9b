"""Bind operands to registers: readers for sources, and how constants look as bits."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import Array, join
from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.registers import VCC, Waves

if TYPE_CHECKING:
    from kernelmill.emulator.operands import Operand
    from kernelmill.emulator.program import Decoded, Layout, Reader

DTYPES: Final[dict[str, np.dtype[np.generic]]] = {
    name: np.dtype(code)
    for name, code in {
        "b16": "u2", "u16": "u2", "i16": "i2", "f16": "f2",
        "b32": "u4", "u32": "u4", "i32": "i4", "f32": "f4",
        "b64": "u8", "u64": "u8", "i64": "i8", "f64": "f8",
    }.items()
}  # fmt: skip
"""Type of an operand, by the letter and width that mnemonics use; ``b`` is mere bits."""
PACK: Final = {16: "<e", 32: "<f", 64: "<d"}
INVERSE_TWO_PI: Final = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
"""The constant 1 / (2 pi), which LLVM prints rounded."""
INLINE: Final = range(-16, 65)
SHARED_APERTURE: Final = 1 << 48
"""Flat addresses from here on are LDS. Beyond what a process has, so nothing else is there."""
PRIVATE_APERTURE: Final = 1 << 49
APERTURE_LIMIT: Final = (1 << 32) - 1
SPECIAL_VALUES: Final = {
    "src_shared_base": SHARED_APERTURE,
    "src_shared_limit": SHARED_APERTURE + APERTURE_LIMIT,
    "src_private_base": PRIVATE_APERTURE,
    "src_private_limit": PRIVATE_APERTURE + APERTURE_LIMIT,
}


def constant_bits(operand: Operand, kind: str) -> int:
    """Return a constant as the bits that an operand of type ``kind`` has."""
    width = int(kind[1:])
    if operand.kind == "real":
        if operand.text.startswith("0.15915"):
            return INVERSE_TWO_PI[width]
        # A real constant for an integer operand of 16 bits is float32, cut.
        form = PACK[width if kind[0] == "f" or width > 16 else 32]
        bits = int.from_bytes(struct.pack(form, operand.value), "little")
        return bits & ((1 << width) - 1)
    value = int(operand.value)
    if kind == "f64" and value not in INLINE:
        return (value & 0xFFFF_FFFF) << 32  # a literal is the high half
    if kind == "i64" and value not in INLINE:
        value = (value & 0xFFFF_FFFF) - ((value & 0x8000_0000) << 1)
    return value & ((1 << width) - 1)


def constant(operand: Operand, kind: str) -> Array:
    """Return a constant as an array without axes."""
    width = int(kind[1:])
    bits = np.array(constant_bits(operand, kind), np.dtype(f"u{width // 8}"))
    return bits.view(DTYPES[kind])


def vector_index(operand: Operand, layout: Layout, decoded: Decoded) -> int:
    """Return the index of a vector or accumulation register in the register file."""
    index = operand.index + (layout.accumulators if operand.kind == "accumulator" else 0)
    if operand.kind not in {"vector", "accumulator"} or index + operand.count > layout.vectors:
        raise UnsupportedInstruction(f"{decoded}: {operand.text!r} is no register of this kernel")
    return index


def bind_source(
    operand: Operand, kind: str, layout: Layout, decoded: Decoded, *, half: int = 0
) -> Reader:
    """Return the reader of a source of a vector instruction.

    It gives [wave, lane], or a shape that broadcasts to it, in the dtype of ``kind``.

    Args:
        operand: what to read.
        kind: type that the instruction takes it for.
        layout: of the program's registers.
        decoded: the instruction, for errors.
        half: which half of the register a 16-bit operand is.
    """
    return _with_sign(_bind_plain(operand, kind, layout, decoded, half), operand, kind)


def _bind_plain(operand: Operand, kind: str, layout: Layout, decoded: Decoded, half: int) -> Reader:
    dtype, width = DTYPES[kind], int(kind[1:])
    if operand.is_constant:
        value = constant(operand, kind)
        if width == 16 and half:
            # A constant has 32 bits: a half that is real has nothing above it.
            is_half = kind == "f16" and operand.kind == "real"
            bits = 0 if is_half else constant_bits(operand, "b32") >> 16
            value = np.array(bits, np.uint16).view(dtype)
        return lambda _: value
    if operand.kind in {"vector", "accumulator"}:
        return _bind_vector(vector_index(operand, layout, decoded), kind, half)
    read = bind_scalar(operand, "b64" if width == 64 else "b32", decoded)
    if width == 16:
        shift = np.uint32(16 * half)
        return lambda w: (read(w) >> shift).astype(np.uint16).view(dtype)[:, None]
    if operand.kind == "special":
        return lambda w: np.atleast_1d(read(w)).view(dtype)[:, None]
    return lambda w: read(w).view(dtype)[:, None]


def _bind_vector(index: int, kind: str, half: int) -> Reader:
    dtype, width = DTYPES[kind], int(kind[1:])
    if width == 64:
        return lambda w: w.wide(index).view(dtype)
    if width == 16:
        return lambda w: w.word(index).view(dtype)[:, half::2]
    if kind == "f32":
        return lambda w: w.real(index)
    if kind == "i32":
        return lambda w: w.integer(index)
    return lambda w: w.word(index)


def _with_sign(read: Reader, operand: Operand, kind: str) -> Reader:
    if not (operand.is_negated or operand.is_absolute):
        return read
    if kind[0] != "f":
        return _with_sign_bit(read, operand, int(kind[1:]))
    if operand.is_negated and operand.is_absolute:
        return lambda w: np.negative(np.abs(read(w)))
    if operand.is_negated:
        return lambda w: np.negative(read(w))
    return lambda w: np.abs(read(w))


def _with_sign_bit(read: Reader, operand: Operand, width: int) -> Reader:
    dtype = np.dtype(f"u{width // 8}")
    sign = np.array(1 << (width - 1), dtype)[()]
    clear = ~sign if operand.is_absolute else ~dtype.type(0)
    flip = sign if operand.is_negated else dtype.type(0)
    return lambda w: (read(w).view(dtype) & clear) ^ flip


def bind_scalar(operand: Operand, kind: str, decoded: Decoded) -> Reader:
    """Return the reader of a scalar source: [wave], or a constant without axes."""
    dtype, width, index = DTYPES[kind], int(kind[1:]), operand.index
    if operand.is_constant:
        value = constant(operand, kind)
        return lambda _: value
    if operand.kind == "special":
        return _bind_special(operand.text, width, decoded)
    if operand.kind != "scalar":
        raise UnsupportedInstruction(f"{decoded}: {operand.text!r} cannot be read as a scalar")
    if width == 64:
        if index & 1:
            return lambda w: join(w.scalar(index), w.scalar(index + 1)).view(dtype)
        return lambda w: w.pair(index).view(dtype)
    if kind in {"b32", "u32"}:
        return lambda w: w.scalar(index)
    return lambda w: w.scalar(index).view(dtype)


def _bind_special(text: str, width: int, decoded: Decoded) -> Reader:
    dtype = np.dtype(f"u{width // 8}")
    if text in SPECIAL_VALUES:
        # NOTE: the 32-bit operand is the high half of the address.
        value = SPECIAL_VALUES[text] >> (0 if width == 64 else 32)
        fixed = np.array(value, dtype)
        return lambda _: fixed
    if text == "src_scc":
        return lambda w: w.scc.astype(dtype)
    if text == "src_vccz":
        return lambda w: (w.pair(VCC) == 0).astype(dtype)
    if text == "src_execz":
        return lambda w: (w.exec == 0).astype(dtype)
    raise UnsupportedInstruction(f"{decoded}: the operand {text!r} is not emulated")


def bind_address(operand: Operand, layout: Layout, decoded: Decoded) -> Reader:
    """Return the reader of a 64-bit address in vector registers: int64 [wave, lane]."""
    index = vector_index(operand, layout, decoded)

    def read(w: Waves) -> Array:
        return w.wide(index).view(np.int64)

    return read
