"""Matrix instructions: dense (``v_mfma``) and 4:2 sparse (``v_smfmac``).

One wave multiplies ``blocks`` independent M x K and K x N matrices, M = N. With lane = 64 lanes:
    A: lane = (k / E * blocks + block) * M + row, element k % E; E elements in each lane
    B: the same with the column
    D: register 4 * g + r, lane = h * N + column holds row g * (4 * 64 / N) + 4 * h + r of a block
Source: AMD matrix instruction calculator, CDNA3; AMD's "Instinct MI300 Instruction Set
Architecture", section 7. The order of summation on hardware is not public: results differ in the
last place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.errors import UnsupportedInstruction
from kernelmill.emulator.fp8 import E4M3FNUZ, E5M2FNUZ
from kernelmill.emulator.operands import Operand, number, numbers
from kernelmill.emulator.sources import constant, vector_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.program import Decoded, Layout, Operation, Reader
    from kernelmill.emulator.registers import Waves
    from kernelmill.emulator.vector import Binder

_NAME = re.compile(
    r"v_(?P<op>mfma|smfmac)_(?P<result>f32|f64|i32)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)"
    r"(?:_(?P<blocks>\d+)b)?_(?P<a>[a-z]+\d+)(?:_(?P<b>fp8|bf8))?"
)
ROWS_TOGETHER: Final = 4
"""Rows of D in neighbouring registers of one lane."""


def _table(values: Array) -> Callable[[Array], Array]:
    return lambda words: values.take(words.view(np.uint8))


def _from_bfloat16(words: Array) -> Array:
    wide = words.view(np.uint16).astype(np.uint32)
    wide <<= np.uint32(16)
    return wide.view(np.float32)


def _from_xfloat32(words: Array) -> Array:
    """Keep 10 bits of the mantissa, as the XF32 format does."""
    return (words & np.uint32(0xFFFF_E000)).view(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """A type of matrix element."""

    bits: int
    decode: Callable[[Array], Array]
    """From words with the registers of a lane as last axis to numbers that are multiplied."""


ELEMENTS: Final[dict[str, Element]] = {
    "fp8": Element(bits=8, decode=_table(E4M3FNUZ.table)),
    "bf8": Element(bits=8, decode=_table(E5M2FNUZ.table)),
    "i8": Element(bits=8, decode=lambda words: words.view(np.int8).astype(np.float64)),
    "f16": Element(bits=16, decode=lambda words: words.view(np.float16).astype(np.float32)),
    "bf16": Element(bits=16, decode=_from_bfloat16),
    "f32": Element(bits=32, decode=lambda words: words.view(np.float32)),
    "xf32": Element(bits=32, decode=_from_xfloat32),
    "f64": Element(bits=64, decode=lambda words: words.view(np.float64)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A matrix instruction, taken from its name."""

    rows: int
    depth: int
    blocks: int
    result: str
    first: str
    second: str
    is_sparse: bool

    @property
    def chunks(self) -> int:
        """Return how many lanes share the K of one row."""
        return LANES // self.rows // self.blocks

    @property
    def flops(self) -> int:
        """Return multiplications and additions of one wave."""
        return 2 * self.rows * self.rows * self.depth * self.blocks

    @property
    def result_registers(self) -> int:
        """Return how many registers D takes."""
        words = 2 if self.result == "f64" else 1
        return self.rows * self.rows * self.blocks // LANES * words


def parse_shape(name: str) -> Shape | None:
    """Return the shape of a matrix instruction, or ``None`` for any other."""
    match = _NAME.fullmatch(name)
    if not match or match["a"] not in ELEMENTS or match["m"] != match["n"]:
        return None
    return Shape(
        rows=int(match["m"]),
        depth=int(match["k"]),
        blocks=int(match["blocks"] or 1),
        result=match["result"],
        first=match["a"],
        second=match["b"] or match["a"],
        is_sparse=match["op"] == "smfmac",
    )


def operand_matrix(registers: Array, shape: Shape, element: Element) -> Array:
    """Return registers [register, wave, lane] as numbers [wave, block, row, k]."""
    count, waves, _ = registers.shape
    parted = registers.reshape(count, waves, shape.chunks, shape.blocks, shape.rows)
    # Words are moved before they are decoded: there are fewer of them than of elements.
    ordered = np.ascontiguousarray(parted.transpose(1, 3, 4, 2, 0))
    return element.decode(ordered).reshape(waves, shape.blocks, shape.rows, -1)


def result_registers(product: Array, shape: Shape) -> Array:
    """Return numbers [wave, block, row, column] as [register, wave, lane]."""
    waves, rows, blocks = len(product), shape.rows, shape.blocks
    if shape.result == "f64":
        # Rows lie in lanes first: registers hold every fourth row.
        parted = product.reshape(waves, blocks, -1, ROWS_TOGETHER, rows)
        return parted.transpose(2, 0, 3, 1, 4).reshape(-1, waves, LANES)
    if rows == ROWS_TOGETHER:
        return product.transpose(2, 0, 1, 3).reshape(rows, waves, LANES)
    parted = product.reshape(waves, blocks, -1, LANES // rows, ROWS_TOGETHER, rows)
    return parted.transpose(1, 2, 4, 0, 3, 5).reshape(-1, waves, LANES)


def _read_registers(w: Waves, index: int, count: int) -> Array:
    """Return ``count`` registers as [register, wave, lane]."""
    chosen: Array = w.words[index : index + count]
    return chosen if w.is_range else chosen.take(w.indices, axis=1)


def _bind_operand(place: int, shape: Shape, layout: Layout, decoded: Decoded) -> Reader:
    """Return the reader of A (``place`` 1) or B (2): numbers [wave, block, row, k]."""
    operand = decoded.operands[place]
    index = vector_index(operand, layout, decoded)
    element, count = ELEMENTS[shape.first if place == 1 else shape.second], operand.count
    key = decoded.fragments[place - 1] if decoded.fragments else 0
    lanes = _lane_pattern(decoded) if place == 2 else None

    def read(w: Waves) -> Array:
        known = w.fragments.get(key) if key else None
        if known is not None:
            return known
        words = _read_registers(w, index, count)
        if lanes is not None:
            words = words[:, :, lanes]
        matrix = operand_matrix(words, shape, element)
        if key:
            w.fragments[key] = matrix
        return matrix

    return read


def _lane_pattern(decoded: Decoded) -> Array | None:
    """Return which lanes B is read from (``blgp``), or ``None`` for its own."""
    pattern = number(decoded.modifiers.get("blgp", "0"))
    lane = np.arange(LANES)
    patterns = {
        0: None, 1: lane % 32, 2: lane % 32 + 32, 3: (lane + 16) % LANES,
        4: lane % 16, 5: lane % 16 + 16, 6: lane % 16 + 32, 7: lane % 16 + 48,
    }  # fmt: skip
    return patterns[pattern]


def _block_pattern(decoded: Decoded, shape: Shape) -> Array | None:
    """Return which block of A each block uses (``cbsz``, ``abid``), or ``None`` for its own."""
    size = number(decoded.modifiers.get("cbsz", "0"))
    if not size:
        return None
    chosen = number(decoded.modifiers.get("abid", "0"))
    return (np.arange(shape.blocks) >> size << size) + chosen


def _bind_addend(operand: Operand, shape: Shape, layout: Layout, decoded: Decoded) -> Reader:
    """Return the reader of C: [register, wave, lane], or a constant."""
    dtype = np.dtype({"f32": "f4", "i32": "i4", "f64": "f8"}[shape.result])
    if operand.is_constant:
        value = constant(operand, shape.result)
        return lambda _: value
    index, count = vector_index(operand, layout, decoded), shape.result_registers
    if shape.result == "f64":

        def read_wide(w: Waves) -> Array:
            return np.stack([w.wide(index + place) for place in range(0, count, 2)]).view(dtype)

        return read_wide

    return lambda w: _read_registers(w, index, count).view(dtype)


def _bind_result(index: int, shape: Shape) -> Callable[[Waves, Array], None]:
    """Return what writes D. Matrix instructions do not look at EXEC."""
    count = shape.result_registers

    def write(w: Waves, value: Array) -> None:
        w.registers.vectors[index : index + count, w.rows] = value.view(np.uint32)

    def write_wide(w: Waves, value: Array) -> None:
        words = np.ascontiguousarray(value).view(np.uint32).reshape(*value.shape, 2)
        w.registers.vectors[index : index + count : 2, w.rows] = words[..., 0]
        w.registers.vectors[index + 1 : index + count : 2, w.rows] = words[..., 1]

    return write_wide if shape.result == "f64" else write


def _multiply(first: Array, second: Array, shape: Shape) -> Array:
    product: Array = np.matmul(first, second.swapaxes(-1, -2))
    return product.astype(np.int64).astype(np.int32) if shape.result == "i32" else product


def bind(decoded: Decoded, layout: Layout) -> Operation:
    """Bind a dense matrix instruction."""
    shape = parse_shape(decoded.name)
    if shape is None or shape.is_sparse:
        raise UnsupportedInstruction(f"{decoded} is not emulated")
    target, _, _, addend = decoded.operands
    first, second = (_bind_operand(place, shape, layout, decoded) for place in (1, 2))
    third = _bind_addend(addend, shape, layout, decoded)
    write = _bind_result(vector_index(target, layout, decoded), shape)
    blocks = _block_pattern(decoded, shape)
    signs = [1 - 2 * sign for sign in numbers(decoded.modifiers.get("neg", "[0,0,0]"))]

    def run(w: Waves) -> None:
        a = first(w)
        if blocks is not None:
            a = a[:, blocks]
        product = result_registers(_multiply(a, second(w), shape), shape)
        if signs != [1, 1, 1]:
            write(w, product * (signs[0] * signs[1]) + third(w) * signs[2])
            return
        product += third(w)
        write(w, product)

    return run


def expand_sparse(values: Array, places: Array) -> Array:
    """Return [..., k] for values [..., k / 2] of which each two of four are kept.

    Args:
        values: what is kept.
        places: where in its four each value stands: 0 to 3, shaped like ``values``.
    """
    full = np.zeros((*values.shape[:-1], values.shape[-1] * 2), values.dtype)
    start = np.repeat(np.arange(0, full.shape[-1], 4), 2)
    np.put_along_axis(full, start + places, values, axis=-1)
    return full


def _sparse_places(index: Array, count: int, set_number: int, bits: int) -> Array:
    """Return the places that the index register gives: [wave, lane, ``count``]."""
    first = set_number * (8 if bits == 8 and count == 8 else 2 * count)
    shifts = np.uint32(first) + np.arange(0, 2 * count, 2, dtype=np.uint32)
    result: Array = ((index[..., None] >> shifts) & np.uint32(3)).astype(np.int64)
    return result


def bind_sparse(decoded: Decoded, layout: Layout) -> Operation:
    """Bind a sparse matrix instruction: D += A * B, where A keeps two of each four along K."""
    shape = parse_shape(decoded.name)
    if shape is None:
        raise UnsupportedInstruction(f"{decoded} is not emulated")
    target, one, _, places = decoded.operands
    second = _bind_operand(2, shape, layout, decoded)
    first_index = vector_index(one, layout, decoded)
    places_index = vector_index(places, layout, decoded)
    third = _bind_addend(target, shape, layout, decoded)
    write = _bind_result(vector_index(target, layout, decoded), shape)
    element = ELEMENTS[shape.first]
    count = 32 * one.count // element.bits
    # One register holds the indices of several instructions when 8 or 16 bits are enough.
    chosen = number(decoded.modifiers.get("abid", "0"))
    if number(decoded.modifiers.get("cbsz", "0")):
        chosen = 0

    def run(w: Waves) -> None:
        words = np.moveaxis(_read_registers(w, first_index, one.count), 0, -1)
        values = element.decode(np.ascontiguousarray(words))
        index = _sparse_places(w.word(places_index), count, chosen, element.bits)
        full = expand_sparse(values.reshape(*index.shape), index)
        lanes = full.reshape(w.count, shape.chunks, 1, shape.rows, -1)
        a = lanes.transpose(0, 2, 3, 1, 4).reshape(w.count, 1, shape.rows, -1)
        product = result_registers(_multiply(a, second(w), shape), shape)
        product += third(w)
        write(w, product)

    return run


DENSE: Final = (
    *(f"v_mfma_f32_{s}_f32" for s in (
        "32x32x1_2b", "16x16x1_4b", "4x4x1_16b", "32x32x2", "16x16x4",
    )),
    *(f"v_mfma_f32_{s}_{t}" for t in ("f16", "bf16") for s in (
        "32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x8", "16x16x16",
    )),
    *(f"v_mfma_i32_{s}_i8" for s in (
        "32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x16", "16x16x32",
    )),
    *(f"v_mfma_f64_{s}_f64" for s in ("16x16x4", "4x4x4_4b")),
    *(f"v_mfma_f32_{s}_xf32" for s in ("16x16x8", "32x32x4")),
    *(f"v_mfma_f32_{s}_{a}_{b}" for s in ("16x16x32", "32x32x16")
      for a in ("fp8", "bf8") for b in ("fp8", "bf8")),
)  # fmt: skip
SPARSE: Final = (
    *(f"v_smfmac_f32_{s}_{t}" for t in ("f16", "bf16") for s in ("16x16x32", "32x32x16")),
    *(f"v_smfmac_i32_{s}_i8" for s in ("16x16x64", "32x32x32")),
    *(f"v_smfmac_f32_{s}_{a}_{b}" for s in ("16x16x64", "32x32x32")
      for a in ("fp8", "bf8") for b in ("fp8", "bf8")),
)  # fmt: skip
BINDERS: Final[dict[str, Binder]] = {
    **dict.fromkeys(DENSE, bind),
    **dict.fromkeys(SPARSE, bind_sparse),
}
